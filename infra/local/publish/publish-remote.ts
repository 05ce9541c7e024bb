import { openAsBlob } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExamHallError } from '#core/errors';
import { MAX_BODY_BYTES } from '#contracts/api-routes';
import type { PublishAnswer } from '#contracts/api-schemas';
import { compileAgent } from './compile-agent.ts';
import { compileTask } from './compile-task.ts';
import type { TaskSourceDeps } from './task-source.ts';
import type { Upload } from './uploads.ts';

/** The two routes that publishing needs. */
export interface PublishApi {
  publishTask(body: unknown): Promise<PublishAnswer>;
  publishAgent(body: unknown): Promise<PublishAnswer>;
}

export interface PublishProgress {
  /** `<bucket>/<key>` of the file that has just been uploaded; null before the first. */
  readonly uploaded: string | null;
  /** Of those that the server has asked for so far. */
  readonly filesLeft: number;
  readonly bytesLeft: number;
}

export interface PublishOptions extends TaskSourceDeps {
  readonly kind: 'task' | 'agent';
  readonly onProgress?: (progress: PublishProgress) => void;
  /** Waits between tries of one upload, in milliseconds. */
  readonly retryWaitsMs?: readonly number[];
}

/** What was published. */
export interface Published {
  readonly id: string;
  readonly revision: string;
  readonly uploadedFiles: number;
  readonly uploadedBytes: number;
}

type Grant = PublishAnswer['uploads'][number]['grant'];

const UPLOADS_AT_ONCE = 4;
const RETRY_WAITS_MS: readonly number[] = [500, 2_000, 8_000];
/** One that the server has, and asks for again, was damaged or removed. */
const MOST_TIMES = 2;
/** Without progress for so long an upload is broken off and tried again. */
const UPLOAD_TIMEOUT_MS = 30 * 60_000;

/**
 * Compiles a task or agent here and publishes it through the API, uploading what the server lacks; run again, it goes on
 * where it was broken off.
 * @throws TaskCardError, TaskLoadError, InvalidRequestError for a folder that is not right; what the API throws;
 * ChecksumMismatchError, StoreUnavailableError when an upload failed for good.
 */
export async function publishThroughApi(folder: string, api: PublishApi, options: PublishOptions): Promise<Published> {
  const { uploads, ...offer } =
    options.kind === 'task' ? await compileTask(folder, options) : await compileAgent(folder, options);
  const post = async (): Promise<PublishAnswer> =>
    options.kind === 'task' ? await api.publishTask(offer) : await api.publishAgent(offer);
  refuseLargeOffer(folder, offer);
  const byKey = new Map(uploads.map((upload) => [`${upload.bucket}/${upload.file.key}`, upload]));
  const sent: Sent = { files: 0, bytes: 0, times: new Map() };
  for (;;) {
    const answer = await post();
    const { id, revision } = answer;
    if (answer.isPublished) return { id, revision, uploadedFiles: sent.files, uploadedBytes: sent.bytes };
    const pending = answer.uploads.flatMap(({ bucket, grant, keys }) =>
      keys.map((key): Pending => ({ upload: fileOf(byKey, `${bucket}/${key}`), grant })),
    );
    if (pending.length === 0 || pending.some(({ upload }) => timesSent(sent, upload) >= MOST_TIMES)) break;
    const before = sent.files;
    await uploadPending(pending, sent, options);
    if (sent.files === before) break;
  }
  const message = `${folder}: the server goes on asking for files that were uploaded; publish again, and see its logs if it stays so`;
  throw new ExamHallError('StoreUnavailableError', message);
}

interface Sent {
  files: number;
  bytes: number;
  /** How often each file was uploaded. */
  readonly times: Map<Upload, number>;
}

function timesSent({ times }: Sent, upload: Upload): number {
  return times.get(upload) ?? 0;
}

interface Pending {
  readonly upload: Upload;
  readonly grant: Grant;
}

function fileOf(byKey: ReadonlyMap<string, Upload>, name: string): Upload {
  const upload = byKey.get(name);
  if (upload !== undefined) return upload;
  const message = `the server asks for ${name}, which was not offered; the versions of server and command line may differ`;
  throw new ExamHallError('InvalidRequestError', message, { name });
}

function refuseLargeOffer(folder: string, offer: object): void {
  const bytes = Buffer.byteLength(JSON.stringify(offer));
  if (bytes <= MAX_BODY_BYTES) return;
  const message = `${folder}: its list of files takes ${String(bytes)} bytes; ${String(MAX_BODY_BYTES)} are allowed: pack the files into archives`;
  throw new ExamHallError('InvalidRequestError', message);
}

async function uploadPending(
  all: readonly Pending[],
  sent: Sent,
  { onProgress, retryWaitsMs = RETRY_WAITS_MS }: PublishOptions,
): Promise<void> {
  const queue = [...all];
  let filesLeft = all.length;
  let bytesLeft = all.reduce((sum, { upload }) => sum + upload.file.sizeBytes, 0);
  onProgress?.({ uploaded: null, filesLeft, bytesLeft });
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { bucket, file } = next.upload;
      const isUploaded = await uploadWithRetries(next, retryWaitsMs).catch((error: unknown) => {
        queue.length = 0;
        throw error;
      });
      if (!isUploaded) return void (queue.length = 0);
      sent.times.set(next.upload, timesSent(sent, next.upload) + 1);
      sent.files += 1;
      sent.bytes += file.sizeBytes;
      filesLeft -= 1;
      bytesLeft -= file.sizeBytes;
      onProgress?.({ uploaded: `${bucket}/${file.key}`, filesLeft, bytesLeft });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.min(UPLOADS_AT_ONCE, all.length) }, work));
  const failed = ended.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** False when the form no longer holds. */
async function uploadWithRetries(pending: Pending, waitsMs: readonly number[]): Promise<boolean> {
  for (let tries = 0; ; tries += 1) {
    const refusal = await uploadOnce(pending);
    if (refusal === null) return true;
    if (refusal.remedy === 'new-form') return false;
    const waitMs = waitsMs[tries];
    if (refusal.remedy !== 'again' || waitMs === undefined) throw refusal.error;
    await sleep(waitMs);
  }
}

interface Refusal {
  readonly error: ExamHallError;
  readonly remedy: 'again' | 'new-form' | null;
}

const PASSING_STATUSES: readonly number[] = [408, 429, 500, 502, 503, 504];

async function uploadOnce({ upload, grant }: Pending): Promise<Refusal | null> {
  const { bucket, file, absolutePath } = upload;
  const name = `${bucket}/${file.key}`;
  const form = new FormData();
  for (const [field, value] of Object.entries(grant.fields)) form.set(field, value);
  // The form holds for this content under this key only.
  form.set('key', file.key);
  form.set('file', await openAsBlob(absolutePath), 'file');
  try {
    const response = await fetch(grant.url, {
      method: 'POST',
      body: form,
      redirect: 'error',
      signal: AbortSignal.timeout(UPLOAD_TIMEOUT_MS),
    });
    const text = await response.text();
    if (response.ok) return null;
    const seen = `${name}: the upload was answered with ${String(response.status)}: ${text.slice(0, 500)}`;
    const isChanged = /BadDigest|InvalidDigest|XAmzContentChecksumMismatch/u.test(text);
    const message = isChanged ? `${seen}; ${absolutePath} may have been changed meanwhile: publish again` : seen;
    const error = new ExamHallError(isChanged ? 'ChecksumMismatchError' : 'StoreUnavailableError', message, { name });
    if (response.status === 403 && /Policy expired/u.test(text)) return { error, remedy: 'new-form' };
    return { error, remedy: PASSING_STATUSES.includes(response.status) ? 'again' : null };
  } catch (error) {
    const seen = error instanceof Error ? causeOf(error) : String(error);
    const message = `${name}: the upload was broken off: ${seen}`;
    return { error: new ExamHallError('StoreUnavailableError', message, { name }, error), remedy: 'again' };
  }
}

/** `fetch` says what happened in the cause. */
function causeOf(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
