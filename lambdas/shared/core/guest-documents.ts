/** Where the guest runner lies on a machine of the cloud, and what it keeps there: its key, and the folders of its jobs. */
export const GUEST_LAYOUT = {
  linux: {
    node: '/opt/examhall/node/bin/node',
    runner: '/opt/examhall/runner.mjs',
    stateFolder: '/var/lib/examhall',
    jobsFolder: '/var/lib/examhall/jobs',
  },
  windows: {
    node: 'C:\\examhall\\node\\node.exe',
    runner: 'C:\\examhall\\runner.mjs',
    stateFolder: 'C:\\ProgramData\\ExamHall',
    jobsFolder: 'C:\\ProgramData\\ExamHall\\jobs',
  },
} as const;

/** The only parameter of the documents: `HELLO_REQUEST`, or a sealed request. */
export const REQUEST_PARAMETER = 'Request';
/** The longest request that is sent: a document's parameters have little room, and a command line of Windows not much more. */
export const REQUEST_MAX_LETTERS = 8192;
/** What stands for a request while the guest's key is not known. */
export const HELLO_REQUEST = 'hello';

export type GuestDocumentKind = 'run' | 'wait';

/**
 * How long a document's script may take. Verbs take ten minutes at most; a wait takes as long as its job, and this is the most
 * that the machine's agent allows.
 */
export const EXECUTION_SECONDS: Readonly<Record<GuestDocumentKind, number>> = { run: 900, wait: 172_800 };

/**
 * Content of the Systems Manager document that hands a request to the guest runner. Nothing of the request can be read in it,
 * and the pattern keeps anything but its letters out of the script: one that the machine's agent compiles, whose regular
 * expressions repeat nothing more than a thousand times; `REQUEST_MAX_LETTERS` is kept by the sender. A step goes by the name of
 * its system.
 */
export function guestDocument(kind: GuestDocumentKind): Readonly<Record<string, unknown>> {
  const { linux, windows } = GUEST_LAYOUT;
  const timeoutSeconds = String(EXECUTION_SECONDS[kind]);
  const request = `{{ ${REQUEST_PARAMETER} }}`;
  return {
    schemaVersion: '2.2',
    description: `Exam Hall: hands a sealed request to the guest runner (${kind})`,
    parameters: {
      [REQUEST_PARAMETER]: {
        type: 'String',
        description: 'hello, or a request sealed for this machine',
        allowedPattern: '^[A-Za-z0-9_-]{5,}$',
      },
    },
    mainSteps: [
      {
        action: 'aws:runShellScript',
        name: 'linux',
        precondition: { StringEquals: ['platformType', 'Linux'] },
        inputs: {
          timeoutSeconds,
          runCommand: [`exec ${linux.node} ${linux.runner} request ${linux.stateFolder} '${request}'`],
        },
      },
      {
        action: 'aws:runPowerShellScript',
        name: 'windows',
        precondition: { StringEquals: ['platformType', 'Windows'] },
        inputs: {
          timeoutSeconds,
          runCommand: [
            '[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)',
            // Without it a program that is not there ends the script with 0.
            "$ErrorActionPreference = 'Stop'",
            `& '${windows.node}' '${windows.runner}' request '${windows.stateFolder}' '${request}'`,
            'exit $LASTEXITCODE',
          ],
        },
      },
    ],
  };
}
