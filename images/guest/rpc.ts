import { setTimeout as sleep } from 'node:timers/promises';
import type { RpcBatch, RpcResult } from '#contracts/guest';
import { endAll } from './end-processes.ts';
import { baseEnvironment, homeOf, innerArgv, launch, type Launched } from './launch.ts';
import { ProcessTree } from './process-tree.ts';
import type { ProcessTable } from './process-table.ts';

/** How much longer than its own limit a batch may take before its walls are pulled down. */
const SPARE_SECONDS = 10;
const ANSWER_LIMIT_BYTES = 512 * 1024 * 1024;
const END_LIMIT_SECONDS = 30;

/**
 * Runs a batch as the account behind its walls. What a command leaves running there ends with the batch.
 * @throws SpawnFailedError, or Error when the guest's side gave no answer.
 */
export async function runBatch(batch: RpcBatch, table: ProcessTable): Promise<readonly RpcResult[]> {
  if (batch.calls.length === 0) return [];
  const launched = await launch(
    {
      argv: innerArgv(batch.isolation, 'rpc-inside'),
      env: { ...baseEnvironment(batch.account, batch.isolation), ...batch.env },
      cwd: homeOf(batch.account, batch.isolation),
      account: batch.account,
      isolation: batch.isolation,
      stdio: ['pipe', 'pipe', 'pipe'],
    },
    table,
  );
  launched.ended.catch(() => undefined);
  try {
    return await answersOf(launched, batch);
  } finally {
    launched.stdin?.destroy();
    launched.release();
    launched.kill();
    // A job that runs beside the batch belongs to the same account: only what the batch began is ended.
    const { session: _, ...note } = launched.note;
    const tree = note.namespace === null ? new ProcessTree(note.launcher.pid) : null;
    await endAll({ uid: null, launch: note, tree }, table, END_LIMIT_SECONDS);
  }
}

async function answersOf(launched: Launched, batch: RpcBatch): Promise<readonly RpcResult[]> {
  launched.stdin?.on('error', () => undefined);
  // The input stays open: when it closes, whoever asked is gone, and the other side ends its commands.
  launched.stdin?.write(`${JSON.stringify({ calls: batch.calls, timeoutSeconds: batch.timeoutSeconds })}\n`);
  const answer = readLine(launched);
  const over = new AbortController();
  const late = sleep((batch.timeoutSeconds + SPARE_SECONDS) * 1000, undefined, { signal: over.signal }).catch(
    () => undefined,
  );
  try {
    const line = await Promise.race([answer, late]);
    if (line === undefined) {
      return batch.calls.map(() => ({ success: false, error: `no answer within ${batch.timeoutSeconds} s` }));
    }
    return JSON.parse(line) as RpcResult[];
  } finally {
    over.abort();
  }
}

/** The one line of the answer, which begins the output: what comes after it is nobody's. */
async function readLine(launched: Launched): Promise<string> {
  let trouble = '';
  const { stdout, stderr } = launched;
  if (stdout === null || stderr === null) throw new Error('the guest has no output pipes');
  stderr.setEncoding('utf8').on('data', (text: string) => (trouble = (trouble + text).slice(-2000)));
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdout) {
    const buffer = chunk as Buffer;
    const end = buffer.indexOf(0x0a);
    chunks.push(end < 0 ? buffer : buffer.subarray(0, end));
    bytes += buffer.length;
    if (end >= 0) return Buffer.concat(chunks).toString('utf8');
    if (bytes > ANSWER_LIMIT_BYTES) throw new RangeError(`the answer is larger than ${ANSWER_LIMIT_BYTES} bytes`);
  }
  const end = await launched.ended;
  throw new Error(`the guest's side ended (${end.signal ?? end.exitCode}) without an answer: ${trouble.trim()}`);
}
