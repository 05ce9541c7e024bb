import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { HostClock } from '#local/clock';
import { CloudFaults } from './cloud-faults.ts';
import { DEFAULT_CLOUD, type CloudSettings } from './cloud-settings.ts';
import { answerEc2 } from './ec2-service.ts';
import { writeError } from './ec2-xml.ts';
import { Guests } from './guests.ts';
import { functionOf, invokeFunction, type CloudFunction } from './lambda-service.ts';
import type { MachineRecord } from './machine-record.ts';
import { Machines } from './machines.ts';
import { AnswerLost, ServiceError } from './service-error.ts';
import { Commands, type CommandEvent, type RunningScript } from './ssm-commands.ts';
import { CommandDocuments, type PlannedStep } from './ssm-documents.ts';
import { answerSsm, type Ssm } from './ssm-service.ts';
import { checkRights, type OwnTag } from './tag-rights.ts';

const MAX_BODY_BYTES = 6_500_000;

export interface CloudOptions {
  /** Machines come and go by it; a virtual one makes that take no time. */
  readonly clock: HostClock;
  readonly settings?: Partial<CloudSettings>;
  /** Systems Manager's documents besides AWS's own shell ones, by name: their content. */
  readonly documents?: Readonly<Record<string, unknown>>;
  /** Ports of this host's loopback that machines reach as ports of their own. */
  readonly ports?: readonly number[];
  /** Told of every status change of a command, unless a fault says otherwise. */
  readonly onCommandEvent?: (event: CommandEvent) => void;
  /** Functions that can be invoked, by name. */
  readonly functions?: Readonly<Record<string, CloudFunction>>;
  /** Answers scripts in the place of machines, where there are none that run: without root, or Windows. */
  readonly script?: (machine: MachineRecord, step: PlannedStep) => ScriptEnd | undefined;
  /** Callers may change, and command, only what has this tag; without it they may do anything. */
  readonly ownTag?: OwnTag;
}

export interface ScriptEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr?: string;
}

/** One call as the services saw it, in order. */
export interface SeenCall {
  readonly operation: string;
  /** What was sent: form fields of EC2, JSON of the others. */
  readonly body: string;
}

/** EC2, Systems Manager and Lambda's `Invoke` on loopback, for real SDK clients. */
export class StandInCloud {
  readonly faults = new CloudFaults();
  readonly machines: Machines;
  readonly settings: CloudSettings;
  readonly calls: SeenCall[] = [];
  readonly commands: Commands;
  readonly guests: Guests;
  /** Systems Manager's parameters, by name. */
  readonly parameters = new Map<string, string>();
  readonly #documents = new CommandDocuments();
  readonly #functions: Readonly<Record<string, CloudFunction>>;
  readonly #ownTag: OwnTag | undefined;
  readonly #server: Server;
  #port = 0;

  private constructor(options: CloudOptions) {
    const { clock, settings, documents = {}, ports = [], onCommandEvent = () => undefined } = options;
    this.settings = { ...DEFAULT_CLOUD, ...settings };
    this.#functions = options.functions ?? {};
    this.#ownTag = options.ownTag;
    this.guests = new Guests(ports);
    this.machines = new Machines({
      clock,
      settings: this.settings,
      faults: this.faults,
      onDown: (instanceId, isDiskKept) => {
        this.commands.forget(instanceId);
        this.guests.down(instanceId, isDiskKept);
      },
    });
    this.commands = new Commands({
      clock,
      faults: this.faults,
      isOnline: (machine) => this.machines.isOnline(machine),
      run: async (machine, step) => await this.#run(options, machine, step),
      onEvent: onCommandEvent,
    });
    for (const [name, content] of Object.entries(documents)) this.#documents.add(name, content);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(options: CloudOptions): Promise<StandInCloud> {
    const cloud = new StandInCloud(options);
    cloud.#server.listen(0, '127.0.0.1');
    await once(cloud.#server, 'listening');
    const address = cloud.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the stand-in got no port');
    cloud.#port = address.port;
    return cloud;
  }

  /** What a client of EC2 or Systems Manager needs to talk to it and to nothing else. */
  get clientConfig(): {
    readonly endpoint: string;
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  } {
    return {
      endpoint: `http://127.0.0.1:${String(this.#port)}`,
      region: this.settings.region,
      credentials: { accessKeyId: 'testing', secretAccessKey: 'testing' },
    };
  }

  callsOf(operation: string): readonly SeenCall[] {
    return this.calls.filter((call) => call.operation === operation);
  }

  /** Ends the server and all that runs on machines. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    await this.guests.close();
  }

  /** The address on this host behind which a machine's own address lies, `http://10.0.0.1:5000`. */
  async doorTo(url: string): Promise<string> {
    const { hostname } = new URL(url);
    const machine = [...this.machines.all.values()].find(({ privateIp }) => privateIp === hostname);
    if (machine === undefined || machine.state !== 'running') throw new Error(`no machine that runs has ${hostname}`);
    return `http://127.0.0.1:${String((await this.guests.of(machine)).door)}`;
  }

  async #run({ script }: CloudOptions, machine: MachineRecord, step: PlannedStep): Promise<RunningScript> {
    const made = script?.(machine, step);
    if (made !== undefined) return { ended: Promise.resolve({ stderr: '', ...made }), kill: () => undefined };
    if (step.action !== 'aws:runShellScript') throw new Error(`nothing here runs ${step.action}`);
    return (await this.guests.of(machine)).run(step.script);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomUUID();
    const protocol = protocolOf(request);
    try {
      const body = await readBody(request);
      const operation = operationOf(request, protocol, body);
      this.calls.push({ operation, body });
      this.faults.beforeCall(operation);
      if (this.#ownTag !== undefined) checkRights(this.machines, operation, body, this.#ownTag);
      const answer = await this.#answer(request, { protocol, operation, body, requestId });
      this.faults.afterCall(operation);
      const headers = { ...answer.headers, 'content-type': TYPES[protocol], 'x-amzn-requestid': requestId };
      response.writeHead(200, headers).end(answer.body);
    } catch (error) {
      if (error instanceof AnswerLost) request.socket.destroy();
      else refuse(response, error, { protocol, requestId });
    }
  }

  async #answer(
    request: IncomingMessage,
    { protocol, operation, body, requestId }: Asked,
  ): Promise<{ readonly body: string; readonly headers?: Readonly<Record<string, string>> }> {
    if (protocol === 'ssm') return { body: answerSsm(this.#ssm, operation, body) };
    if (protocol === 'ec2') return { body: answerEc2(this.machines, new URLSearchParams(body), requestId) };
    const answer = await invokeFunction(this.#functions[functionOf(request.url ?? '') ?? ''], body);
    return { body: answer.body, headers: answer.hasFailed ? { 'x-amz-function-error': 'Unhandled' } : {} };
  }

  get #ssm(): Ssm {
    const { machines, commands, parameters } = this;
    return { machines, commands, parameters, documents: this.#documents };
  }
}

type Protocol = 'ec2' | 'ssm' | 'lambda';

interface Asked {
  readonly protocol: Protocol;
  readonly operation: string;
  readonly body: string;
  readonly requestId: string;
}

const TYPES: Readonly<Record<Protocol, string>> = {
  ec2: 'text/xml;charset=UTF-8',
  ssm: 'application/x-amz-json-1.1',
  lambda: 'application/json',
};

function protocolOf({ headers, url = '' }: IncomingMessage): Protocol {
  if (functionOf(url) !== undefined) return 'lambda';
  return headers['x-amz-target'] === undefined ? 'ec2' : 'ssm';
}

function operationOf({ headers }: IncomingMessage, protocol: Protocol, body: string): string {
  if (protocol === 'lambda') return 'Invoke';
  const target = headers['x-amz-target'];
  return typeof target === 'string' ? (target.split('.')[1] ?? '') : (new URLSearchParams(body).get('Action') ?? '');
}

function refuse(
  response: ServerResponse,
  error: unknown,
  { protocol, requestId }: Pick<Asked, 'protocol' | 'requestId'>,
): void {
  const { code, status, message } =
    error instanceof ServiceError ? error : new ServiceError('InternalFailure', String(error), 500);
  const body = protocol === 'ec2' ? writeError(code, message, requestId) : JSON.stringify({ __type: code, message });
  const headers = { 'content-type': TYPES[protocol], 'x-amzn-requestid': requestId, 'x-amzn-errortype': code };
  response.writeHead(status, headers).end(body);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.byteLength;
    if (size > MAX_BODY_BYTES) throw new ServiceError('RequestEntityTooLarge', 'the body is too long', 413);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
