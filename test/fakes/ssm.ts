import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  DescribeInstanceInformationCommand,
  InvalidInstanceId,
  ListCommandInvocationsCommand,
  SendCommandCommand,
  SSMClient,
  type CommandInvocation,
  type SendCommandCommandInput,
} from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';

/** How the next command goes wrong; `disowned` does its work and is called failed, `unended` does it and is never told of. */
export type CommandFault = 'undelivered' | 'slow' | 'failed' | 'disowned' | 'unended';

interface FakeCommand {
  readonly input: SendCommandCommandInput;
  /** Looks that come too early to see the command. */
  hiddenLooks: number;
  status: CommandInvocation['Status'];
  details: string;
  output: string;
}

export interface FakeSsmOptions {
  readonly runner: string;
  readonly stateFolder: string;
  readonly instanceId: string;
  readonly cuaUrl?: string;
  /** Told as the cloud's event bus is. */
  readonly onEnd?: (detail: { readonly commandId: string; readonly document: string; readonly status: string }) => void;
}

/** Systems Manager with one machine, which is this computer: commands really run the bundled runner, each as a process. */
export class FakeSsm {
  readonly client = new SSMClient({ region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  readonly sent: SendCommandCommandInput[] = [];
  readonly fails: CommandFault[] = [];
  isOnline = true;
  isRegistered = true;
  looks = 0;
  /** What commands print in place of the runner, which is not run then. */
  says: string | undefined;
  readonly #options: FakeSsmOptions;
  readonly #commands = new Map<string, FakeCommand>();
  readonly #children = new Set<ChildProcess>();

  constructor(options: FakeSsmOptions) {
    this.#options = options;
    const mock = mockClient(this.client);
    mock.on(SendCommandCommand).callsFake((input: SendCommandCommandInput) => this.#send(input));
    mock.on(ListCommandInvocationsCommand).callsFake(({ CommandId }: { CommandId: string }) => this.#list(CommandId));
    mock.on(DescribeInstanceInformationCommand).callsFake(() => ({
      InstanceInformationList: this.isRegistered
        ? [{ InstanceId: options.instanceId, PingStatus: this.isOnline ? 'Online' : 'ConnectionLost' }]
        : [],
    }));
  }

  /** Commands that run now. */
  get running(): number {
    return this.#children.size;
  }

  /** What all commands have printed. */
  get printed(): readonly string[] {
    return [...this.#commands.values()].map(({ output }) => output);
  }

  /** Ends what still runs. */
  close(): void {
    for (const child of this.#children) child.kill('SIGKILL');
  }

  #send(input: SendCommandCommandInput): object {
    this.sent.push(input);
    if (!this.isRegistered || input.InstanceIds?.[0] !== this.#options.instanceId) {
      throw new InvalidInstanceId({ message: 'Instances not in a valid state for account', $metadata: {} });
    }
    const commandId = randomUUID();
    const fault = this.fails.shift();
    const command: FakeCommand = { input, hiddenLooks: 1, status: 'InProgress', details: 'InProgress', output: '' };
    this.#commands.set(commandId, command);
    if (fault === 'undelivered') this.#end(commandId, command, ['TimedOut', 'Delivery Timed Out']);
    else if (fault === 'failed') this.#end(commandId, command, ['Failed', 'Failed']);
    else if (this.says !== undefined) {
      command.output = this.says;
      this.#end(commandId, command, ['Success', 'Success']);
    } else if (fault !== 'slow') this.#run(commandId, command, fault);
    return { Command: { CommandId: commandId } };
  }

  #run(commandId: string, command: FakeCommand, fault?: CommandFault): void {
    const { runner, stateFolder, cuaUrl } = this.#options;
    const [request = ''] = command.input.Parameters?.['Request'] ?? [];
    const args = [runner, 'request', stateFolder, request, ...(cuaUrl === undefined ? [] : ['--cua', cuaUrl])];
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env['PATH'] ?? '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (command.output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    child.once('close', (code) => {
      this.#children.delete(child);
      if (errors !== '') command.output += `\n----------ERROR-------\n${errors}`;
      command.output = command.output.slice(0, 2500);
      if (fault === 'unended') return;
      const isWell = code === 0 && fault !== 'disowned';
      this.#end(commandId, command, isWell ? ['Success', 'Success'] : ['Failed', 'Failed']);
    });
  }

  #end(
    commandId: string,
    command: FakeCommand,
    [status, details]: readonly ['Success' | 'Failed' | 'TimedOut', string],
  ) {
    command.status = status;
    command.details = details;
    const document = command.input.DocumentName ?? '';
    setImmediate(() => this.#options.onEnd?.({ commandId, document, status }));
  }

  #list(commandId: string): object {
    this.looks += 1;
    const command = this.#commands.get(commandId);
    if (command === undefined || command.hiddenLooks > 0) {
      if (command !== undefined) command.hiddenLooks -= 1;
      return { CommandInvocations: [] };
    }
    const { status, details, output } = command;
    const plugins = [
      { Name: 'windows', Output: 'Step execution skipped due to unsatisfied preconditions' },
      { Name: 'linux', Output: output },
    ];
    return { CommandInvocations: [{ Status: status, StatusDetails: details, CommandPlugins: plugins }] };
  }
}
