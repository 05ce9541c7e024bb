import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { HostClock } from '#local/clock';
import { CloudFaults } from './cloud-faults.ts';
import { DEFAULT_CLOUD, type CloudSettings } from './cloud-settings.ts';
import { answerEc2 } from './ec2-service.ts';
import { writeError } from './ec2-xml.ts';
import { Machines } from './machines.ts';
import { AnswerLost, ServiceError } from './service-error.ts';

const MAX_BODY_BYTES = 1_000_000;

export interface CloudOptions {
  /** Machines come and go by it; a virtual one makes that take no time. */
  readonly clock: HostClock;
  readonly settings?: Partial<CloudSettings>;
}

/** One call as the services saw it, in order. */
export interface SeenCall {
  readonly operation: string;
  /** What was sent: form fields of EC2, JSON of the others. */
  readonly body: string;
}

/** EC2 and Systems Manager on loopback, for real SDK clients. */
export class StandInCloud {
  readonly faults = new CloudFaults();
  readonly machines: Machines;
  readonly settings: CloudSettings;
  readonly calls: SeenCall[] = [];
  readonly #server: Server;
  #port = 0;

  private constructor({ clock, settings }: CloudOptions) {
    this.settings = { ...DEFAULT_CLOUD, ...settings };
    this.machines = new Machines({ clock, settings: this.settings, faults: this.faults, onDown: () => undefined });
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
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomUUID();
    try {
      const body = await readBody(request);
      const form = new URLSearchParams(body);
      const operation = form.get('Action') ?? '';
      this.calls.push({ operation, body });
      this.faults.beforeCall(operation);
      const answer = answerEc2(this.machines, form, requestId);
      this.faults.afterCall(operation);
      response.writeHead(200, { 'content-type': 'text/xml;charset=UTF-8' }).end(answer);
    } catch (error) {
      if (error instanceof AnswerLost) {
        request.socket.destroy();
        return;
      }
      const { code, status, message } =
        error instanceof ServiceError ? error : new ServiceError('InternalFailure', String(error), 500);
      response
        .writeHead(status, { 'content-type': 'text/xml;charset=UTF-8' })
        .end(writeError(code, message, requestId));
    }
  }
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
