import { describe, expect, it } from 'vitest';
import { AGENT_ACCOUNTS, GUEST_PATHS } from '#core/boot-script';
import { EXECUTION_SECONDS, GUEST_LAYOUT, guestDocument, type GuestDocumentKind } from '#core/guest-documents';
import { whyAgentRefuses } from '#test/emulators/cloud/agent-pattern';
import { agentRunScript, verifyScript } from '#core/preflight-run';

interface Step {
  readonly action: string;
  readonly name: string;
  readonly precondition: { readonly StringEquals: readonly string[] };
  readonly inputs: { readonly runCommand: readonly string[] };
}

const KINDS = Object.keys(EXECUTION_SECONDS) as GuestDocumentKind[];
const stepsOf = (kind: GuestDocumentKind): readonly Step[] =>
  (guestDocument(kind) as { readonly mainSteps: readonly Step[] }).mainSteps;

const windowsTexts = KINDS.flatMap((kind) =>
  stepsOf(kind)
    .filter(({ action }) => action === 'aws:runPowerShellScript')
    .map(({ inputs }) => [kind, inputs.runCommand] as const),
);

const UTF8 = '[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)';

describe('the documents for a Windows guest', () => {
  it('are one for each document there is, of the step that a Windows machine alone does', () => {
    expect(windowsTexts.map(([kind]) => kind)).toEqual(KINDS);
    expect(KINDS.length).toBeGreaterThanOrEqual(2);
    for (const kind of KINDS)
      expect(stepsOf(kind).map(({ name, precondition }) => [name, precondition.StringEquals])).toEqual([
        ['linux', ['platformType', 'Linux']],
        ['windows', ['platformType', 'Windows']],
      ]);
  });

  it.each(windowsTexts)(
    'print UTF-8 from their first line on, and end with the exit code of the runner: %s',
    (_, text) => {
      const [first, second, ...rest] = text;
      expect(first).toBe(UTF8);
      // A runner that is not there has no exit code, and PowerShell would end with 0.
      expect(second).toBe("$ErrorActionPreference = 'Stop'");
      const { node, runner, stateFolder } = GUEST_LAYOUT.windows;
      expect(rest).toEqual([`& '${node}' '${runner}' request '${stateFolder}' '{{ Request }}'`, 'exit $LASTEXITCODE']);
    },
  );

  it('are the same lines, since what differs is how long they may take', () => {
    expect(new Set(windowsTexts.map(([, text]) => text.join('\n'))).size).toBe(1);
  });
});

describe('the patterns of the documents', () => {
  const patterns = KINDS.flatMap((kind) => {
    const { parameters } = guestDocument(kind) as { readonly parameters: Record<string, { allowedPattern: string }> };
    return Object.values(parameters).map(({ allowedPattern }) => allowedPattern);
  });

  it('are ones that the agent of a machine compiles', () => {
    expect(patterns).toHaveLength(KINDS.length);
    expect(patterns.map(whyAgentRefuses)).toEqual(KINDS.map(() => null));
  });

  it.each([
    ['^[a-z]{5,8192}$', 'invalid repeat count 8192'],
    ['a{1001}', 'invalid repeat count 1001'],
    ['(?=a)b', 'a look ahead'],
    ['(?<!a)b', 'a look ahead or behind'],
    ['(a)\\1', 'a reference back'],
    ['(?<x>a)\\k<x>', 'a reference back'],
    ['a++', 'a group that gives nothing back'],
  ])('would be refused there as %s', (pattern, why) => {
    expect(whyAgentRefuses(pattern)).toContain(why);
  });

  it.each(['a{0,1000}', '\\{2000\\}', '(?<x>a)', '(?:a+)?', '\\\\1'])('would be taken there as %s', (pattern) => {
    expect(whyAgentRefuses(pattern)).toBeNull();
  });
});

describe('scripts that a command of the cloud runs on a Windows guest', () => {
  const run = agentRunScript('windows', { script: 'echo ü', jobId: 'preflight-1', privilege: 'restricted' });
  const lines = run.trim().split('\n');

  it('hand UTF-8 over and print it, of the preflight', () => {
    const at = lines.findIndex((line) => line.includes(UTF8));
    expect(lines[at]).toBe(`$OutputEncoding = ${UTF8}`);
    expect(lines.slice(0, at)).toEqual(["$ErrorActionPreference = 'Stop'"]);
  });

  it('stop everything of the account, as the end of an attempt does', () => {
    const { runnerNode, runner, jobsDir } = GUEST_PATHS.windows;
    const { name } = AGENT_ACCOUNTS.windows;
    expect(lines.at(-1)).toBe(
      `& '${runnerNode}' '${runner}' stop '${jobsDir}' 'preflight-1' --account ${name} | Out-Null`,
    );
  });

  it('end with the exit code of the verify script', () => {
    const verify = verifyScript('windows').split('\n');
    expect([verify[0], verify.at(-1)]).toEqual([UTF8, 'exit $LASTEXITCODE']);
  });
});
