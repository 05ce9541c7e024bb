import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { GUEST_CONTRACT_VERSION, type GuestHello, type GuestReply, type GuestRequest } from '#contracts/guest';
import { stopRevivers } from './desktop-units.ts';
import { ensureKey, readKey } from './guest-key.ts';
import { stateOfDesktop } from './guest-state.ts';
import { stopJob, statusOf, waitFor } from './job-control.ts';
import { JobFolder } from './job-folder.ts';
import { JobInputError } from './job-input.ts';
import { firstLine } from './job-output.ts';
import { uniqueSuffix } from './lazy-builtins.ts';
import type { ProcessTable } from './process-table.ts';
import { runBatch } from './rpc.ts';
import { fetchRequest, openSealed, RequestRefusedError } from './sealed-request.ts';
import { startDetached } from './start-detached.ts';
import { bufferSource, uploadObject } from './upload-object.ts';
import { whileBusy } from './windows-files.ts';

/** What stands for the request that nothing can be sealed for yet. */
export const HELLO = 'hello';

const WAIT_LOOK_SECONDS = 5;

/** Says who this guest is and how its desktop does; makes its key at the first call. */
export async function hello(stateFolder: string, cuaUrl: string): Promise<GuestHello> {
  const { publicKey } = ensureKey(stateFolder);
  const state = await stateOfDesktop(cuaUrl);
  return { version: GUEST_CONTRACT_VERSION, publicKey: publicKey.toString('base64url'), state };
}

/**
 * Does one sealed request and puts its answer where the request says. What the verb itself throws is an answer too. A job is
 * answered before it is started: whatever it does then, its channel knows that it was. One that cannot be answered does not start.
 * @throws RequestRefusedError when it must not be done.
 */
export async function runRequest(stateFolder: string, sealed: string, table: ProcessTable): Promise<void> {
  const key = readKey(stateFolder);
  if (key === undefined) throw new RequestRefusedError(`there is no key in ${stateFolder}; say hello first`);
  const request = await fetchRequest(openSealed(sealed, key), new Date());
  const { requestId, reply } = request;
  let answer: GuestReply;
  let failure: unknown;
  const isStart = request.verb.kind === 'start';
  if (isStart && reply !== null) await tell(reply, { requestId, ok: true, value: null });
  try {
    const value = await done(request.verb, path.join(stateFolder, 'jobs'), table);
    answer = { requestId, ok: true, value };
  } catch (error) {
    failure = error;
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    answer = { requestId, ok: false, error: name, message: message.slice(0, 4000) };
  }
  if (reply === null) {
    if (!answer.ok) throw failure;
    return;
  }
  if (!isStart || !answer.ok) await tell(reply, answer);
}

/**
 * What may be said of a failed request where everybody may read it who lists commands: what kind of trouble, never what it was
 * about. A refusal speaks of the seal and the time alone.
 */
export function printable(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  if (error instanceof RequestRefusedError) return `${error.name}: ${error.message}`;
  const { code = '', status = '' } = error as { readonly code?: unknown; readonly status?: unknown };
  const words = [error.name, code, status].map(String).filter((word) => /^\w{1,60}$/u.test(word));
  return `the request failed: ${words.join(' ')}`;
}

async function tell(reply: NonNullable<GuestRequest['reply']>, answer: GuestReply): Promise<void> {
  await uploadObject(reply, reply.key, bufferSource(Buffer.from(JSON.stringify(answer), 'utf8')));
}

async function done(verb: GuestRequest['verb'], jobsDir: string, table: ProcessTable): Promise<unknown> {
  switch (verb.kind) {
    case 'start':
      await startDetached(jobsDir, JSON.stringify(verb.job));
      return null;
    case 'status':
      return statusOf(new JobFolder(jobsDir, verb.jobId), table);
    case 'stop':
      if (verb.uid !== null) await stopRevivers(verb.uid);
      return await stopJob(new JobFolder(jobsDir, verb.jobId), table, verb);
    case 'first-line':
      return await firstLine(new JobFolder(jobsDir, verb.jobId), table, verb);
    case 'rpc':
      return await runBatch(verb.batch, table);
    case 'wait':
      await waitAlone(new JobFolder(jobsDir, verb.jobId), table);
      return null;
  }
}

/** Waits for a job's end, or until another wait for it begins: an agent of the cloud runs few commands at once. */
async function waitAlone(folder: JobFolder, table: ProcessTable): Promise<void> {
  if (!folder.exists()) throw new JobInputError(`there is no job ${folder.jobId} in ${folder.jobsDir}`);
  const mine = uniqueSuffix();
  const note = folder.fileAt('.waiter');
  writeFileSync(`${note}-${mine}`, mine, { mode: 0o600 });
  whileBusy(() => renameSync(`${note}-${mine}`, note));
  for (;;) {
    const result = await waitFor(folder, table, { timeoutSeconds: WAIT_LOOK_SECONDS });
    if (result !== undefined || readFileSync(note, 'utf8') !== mine) return;
  }
}
