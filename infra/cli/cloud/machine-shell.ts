import { gzipSync } from 'node:zlib';
import {
  DescribeInstanceInformationCommand,
  GetCommandInvocationCommand,
  SendCommandCommand,
  type SSMClient,
} from '@aws-sdk/client-ssm';
import { RemoteError } from '#cli/remote/remote-error';

export interface MachineScript {
  readonly os: 'linux' | 'windows';
  /** bash, or PowerShell. */
  readonly text: string;
  readonly timeoutSeconds: number;
}

export interface ScriptEnd {
  readonly exitCode: number;
  /** The first 24,000 characters; Systems Manager keeps no more. */
  readonly stdout: string;
  /** The first 8,000 characters. */
  readonly stderr: string;
}

/** Runs scripts on a machine as root or SYSTEM, with the rights of whoever calls. */
export interface MachineShell {
  /** @throws RemoteError when the machine's agent does not come within that time. */
  waitOnline(instanceId: string, withinSeconds: number): Promise<void>;
  /** @throws RemoteError when the script could not be delivered, or did not end in time. */
  run(instanceId: string, script: MachineScript): Promise<ScriptEnd>;
}

export interface ShellOptions {
  readonly client: SSMClient;
  readonly delay: (seconds: number) => Promise<void>;
}

const DOCUMENTS = { linux: 'AWS-RunShellScript', windows: 'AWS-RunPowerShellScript' } as const;
const DELIVERY_SECONDS = 120;
const LOOK_SECONDS = 5;
const ENDS: Readonly<Record<string, boolean>> = { Success: true, Failed: true, TimedOut: false, Cancelled: false };

/** By Systems Manager's own documents: what is run is readable to whoever may list commands of the account. */
export function createMachineShell({ client, delay }: ShellOptions): MachineShell {
  return {
    waitOnline: async (instanceId, withinSeconds) => {
      for (let waited = 0; waited < withinSeconds; waited += LOOK_SECONDS) {
        const command = new DescribeInstanceInformationCommand({
          Filters: [{ Key: 'InstanceIds', Values: [instanceId] }],
        });
        const { InstanceInformationList: [found] = [] } = await client.send(command);
        if (found?.PingStatus === 'Online') return;
        await delay(LOOK_SECONDS);
      }
      throw new RemoteError(
        'host',
        `the SSM agent of ${instanceId} did not come online within ${String(withinSeconds)} s; the image needs one (or cloud-init, which brings it), and the subnet a way to Systems Manager`,
      );
    },
    run: async (instanceId, script) => await runScript(instanceId, script, { client, delay }),
  };
}

async function runScript(instanceId: string, script: MachineScript, options: ShellOptions): Promise<ScriptEnd> {
  const { os, text, timeoutSeconds } = script;
  const { Command } = await options.client.send(
    new SendCommandCommand({
      DocumentName: DOCUMENTS[os],
      InstanceIds: [instanceId],
      TimeoutSeconds: DELIVERY_SECONDS,
      Parameters: { commands: [commandOf(os, text)], executionTimeout: [String(timeoutSeconds)] },
    }),
  );
  const commandId = Command?.CommandId;
  if (commandId === undefined) throw new RemoteError('host', `Systems Manager took no command for ${instanceId}`);
  for (let waited = 0; waited < timeoutSeconds + DELIVERY_SECONDS + 60; waited += LOOK_SECONDS) {
    const end = await endOf(instanceId, commandId, options.client);
    if (end !== null) return end;
    await options.delay(LOOK_SECONDS);
  }
  throw new RemoteError('timeout', `command ${commandId} on ${instanceId} did not end within its time`);
}

/** bash whatever `sh` is; no quoting, whatever the script holds, and small. */
function commandOf(os: 'linux' | 'windows', text: string): string {
  return os === 'linux'
    ? `script=$(printf %s '${gzipSync(text).toString('base64')}' | base64 -d | gunzip) && exec /bin/bash -c "$script" </dev/null`
    : text;
}

/** Null while it runs, and right after it was sent, when nobody knows of it yet. */
async function endOf(instanceId: string, commandId: string, client: SSMClient): Promise<ScriptEnd | null> {
  try {
    const found = await client.send(new GetCommandInvocationCommand({ CommandId: commandId, InstanceId: instanceId }));
    const { Status = 'Pending', StatusDetails, ResponseCode = -1 } = found;
    const isEnd = ENDS[Status];
    if (isEnd === undefined) return null;
    const { StandardOutputContent: stdout = '', StandardErrorContent: stderr = '' } = found;
    // A command that never ran has no exit code of its own.
    if (isEnd && ResponseCode >= 0) return { exitCode: ResponseCode, stdout, stderr };
    throw new RemoteError(
      'host',
      `command ${commandId} on ${instanceId} ended as ${StatusDetails ?? Status} without an exit code: ${stderr.slice(0, 500)}`,
    );
  } catch (error) {
    if (error instanceof Error && error.name === 'InvocationDoesNotExist') return null;
    throw error;
  }
}
