import type * as z from 'zod';
import type { CuaClient } from '#adapters/cua-client';
import type { GuestJob, JobResult, JobStatus, StopReport } from '#contracts/guest';
import type { FolderListing, ListingRequest } from '#contracts/guest-listing';
import { quotePosix } from '#core/cua/posix-shell';
import { ExamHallError } from '#core/errors';
import type { Sandbox } from '#ports/sandbox-provider';
import {
  folderListingSchema,
  jobResultSchema,
  jobStatusSchema,
  parseGuestJson,
  StopReportSchema,
} from './guest-answers.ts';

const RUNNER_SECONDS = 60;
const LIST_SECONDS = 600;
const LISTING_LIMIT_BYTES = 64 * 1024 * 1024;
const RESULT_LIMIT_BYTES = 1024 * 1024;
const STDERR_BYTES = 8_000;
const STDERR_CHARACTERS = 2_000;
const FIRST_LINE_BYTES = 4_096;

/** The guest runner on a machine that is reached by its cua-server alone; it lies in the sandbox's own folder there. */
export class CuaGuest {
  readonly client: CuaClient;
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly jobs: string;

  constructor(sandbox: Sandbox, client: CuaClient) {
    const folder = sandbox.resources.find((resource) => resource.kind === 'folder')?.resourceId;
    if (folder === undefined) throw new TypeError(`sandbox ${sandbox.sandboxId} names no folder of its own`);
    this.sandbox = sandbox;
    this.client = client;
    this.folder = folder;
    this.jobs = `${folder}/jobs`;
  }

  /** Starts a job once; what it says reaches the machine in a file that only its account reads, never in arguments. */
  async start(job: GuestJob): Promise<void> {
    const input = `${this.folder}/${job.jobId}.start.json`;
    await this.#asked(() => this.client.upload(input, Buffer.from(JSON.stringify(job), 'utf8')));
    await this.#runner(['start', this.jobs], { input, removesInput: true });
  }

  async status(jobId: string): Promise<JobStatus> {
    const result = await this.#asked(() => this.#finished(jobId));
    if (result !== undefined) return { state: 'finished', result };
    return this.#answer(jobStatusSchema(jobId), 'status', await this.#runner(['status', this.jobs, jobId]));
  }

  async #finished(jobId: string): Promise<JobResult | undefined> {
    const file = `${this.jobs}/${jobId}/result.json`;
    if (!(await this.client.fileExists(file))) return undefined;
    const bytes = await this.client.download(file, RESULT_LIMIT_BYTES);
    return this.#answer(jobResultSchema(jobId), 'the result of a job', new TextDecoder().decode(bytes));
  }

  /** True once the job's last file is there. Cheaper than `status`, and blind to a runner that has died. */
  hasResult(jobId: string): Promise<boolean> {
    return this.#asked(() => this.client.fileExists(`${this.jobs}/${jobId}/result.json`));
  }

  hasJob(jobId: string): Promise<boolean> {
    return this.#asked(() => this.client.directoryExists(`${this.jobs}/${jobId}`));
  }

  async stop(jobId: string): Promise<StopReport> {
    return this.#answer(StopReportSchema, 'stop', await this.#runner(['stop', this.jobs, jobId]));
  }

  /** Takes no more jobs and ends those there are. */
  async close(): Promise<StopReport> {
    return this.#answer(StopReportSchema, 'close', await this.#runner(['close', this.jobs]));
  }

  async list(request: ListingRequest, signal: AbortSignal): Promise<FolderListing> {
    const input = `${this.folder}/${crypto.randomUUID()}.list.json`;
    await this.#asked(() => this.client.upload(input, Buffer.from(JSON.stringify(request), 'utf8')));
    const limits = { input, removesInput: true, timeoutSeconds: LIST_SECONDS, signal };
    return this.#answer(folderListingSchema(request), 'list', await this.#runner(['list'], limits));
  }

  /** The first line a job has printed, and the end of its errors. */
  async said(jobId: string): Promise<{ readonly line: string | null; readonly stderr: string }> {
    const output = await this.#asked(() => this.#part(`${this.jobs}/${jobId}/stdout`, 0, FIRST_LINE_BYTES));
    const errors = await this.#asked(() => this.#part(`${this.jobs}/${jobId}/stderr`, -STDERR_BYTES, STDERR_BYTES));
    const end = output.indexOf(0x0a);
    const isWhole = end >= 0 || output.length === FIRST_LINE_BYTES;
    const line = isWhole ? output.subarray(0, end < 0 ? FIRST_LINE_BYTES : end).toString('utf8') : null;
    return { line, stderr: errors.toString('utf8').slice(-STDERR_CHARACTERS) };
  }

  /** A piece of a file, from its end when the offset is negative; nothing of one that is not there. */
  async #part(path: string, offset: number, length: number): Promise<Buffer> {
    if (!(await this.client.fileExists(path))) return Buffer.alloc(0);
    const from = offset < 0 ? Math.max(0, (await this.client.fileSize(path)) + offset) : offset;
    const fields = await this.client.call('read_bytes', { path, offset: from, length });
    const content = fields['content_b64'];
    // However much comes, what was asked for is taken.
    return typeof content === 'string' ? Buffer.from(content, 'base64').subarray(0, length) : Buffer.alloc(0);
  }

  /** Runs one verb of the runner and gives back what it prints. @throws ChannelUnavailableError. */
  async #runner(
    words: readonly string[],
    options: {
      readonly input?: string;
      readonly removesInput?: boolean;
      readonly timeoutSeconds?: number;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<string> {
    const { input, timeoutSeconds = RUNNER_SECONDS, signal } = options;
    const argv = [this.sandbox.paths.runnerNode, `${this.folder}/runner.mjs`, ...words].map(quotePosix).join(' ');
    const from = input === undefined ? '</dev/null' : `<${quotePosix(input)}`;
    const end =
      options.removesInput === true && input !== undefined ? `; r=$?; rm -f ${quotePosix(input)}; exit $r` : '';
    const limits = { timeoutSeconds, outputLimitBytes: LISTING_LIMIT_BYTES, ...(signal ? { signal } : {}) };
    const done = await this.#asked(() => this.client.exec(`${argv} ${from}${end}`, limits));
    if (done.exitCode === 0) return done.stdout;
    const how = done.timedOut ? `no answer within ${timeoutSeconds} s` : `exit code ${done.exitCode}`;
    throw new ExamHallError(
      'ChannelUnavailableError',
      `sandbox ${this.sandbox.sandboxId}: runner ${words[0] ?? ''}: ${how}: ${done.stderr.trim().slice(-500)}`,
      { sandboxId: this.sandbox.sandboxId },
    );
  }

  /** @throws ChannelUnavailableError for what is not as agreed: the machine's root says what it likes. */
  #answer<T>(schema: z.ZodType<T>, what: string, text: string): T {
    const said = parseGuestJson(schema, text);
    if ('answer' in said) return said.answer;
    const { sandboxId } = this.sandbox;
    const message = `sandbox ${sandboxId}: what it answers to ${what} is not as agreed: ${said.why}`;
    throw new ExamHallError('ChannelUnavailableError', message, { sandboxId });
  }

  #asked<T>(ask: () => Promise<T>): Promise<T> {
    return asked(this.sandbox.sandboxId, ask);
  }
}

/** What a machine could not be asked. @throws ChannelUnavailableError for anything the cua client throws. */
export async function asked<T>(sandboxId: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Error) || !error.name.startsWith('Cua')) throw error;
    const message = `sandbox ${sandboxId} does not answer: ${error.message}`;
    throw new ExamHallError('ChannelUnavailableError', message, { sandboxId }, error);
  }
}

/** One client for each address. */
export class CuaClients {
  readonly #clients = new Map<string, CuaClient>();
  readonly #connect: (endpoint: string) => CuaClient;

  constructor(connect: (endpoint: string) => CuaClient) {
    this.#connect = connect;
  }

  /** @throws ChannelUnavailableError for a sandbox without an address. */
  of(sandbox: Pick<Sandbox, 'sandboxId' | 'endpoint'>): CuaClient {
    const { endpoint } = sandbox;
    if (endpoint === null)
      throw new ExamHallError('ChannelUnavailableError', `sandbox ${sandbox.sandboxId} has no address`);
    const client = this.#clients.get(endpoint) ?? this.#connect(endpoint);
    this.#clients.set(endpoint, client);
    return client;
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
    this.#clients.clear();
  }
}
