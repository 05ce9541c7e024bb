import { jobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import type { WaitRow } from '#core/rows';
import { runAgent } from '#usecases/run-agent';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, runTo, waiting } from './attempt-run.ts';
import { World } from './world.ts';

const HOUR = 3600;

interface CrowdOptions {
  readonly wallTimeSeconds?: number;
  /** What the waits of the others have besides. */
  readonly wait?: (index: number) => Partial<WaitRow>;
}

export interface Crowd {
  readonly world: World;
  /** Of the one attempt that is no copy. */
  readonly token: string;
}

export const otherAttempt = (index: number): string => `a${String(index)}.1`;

/** A world whose agent runs for hours, and as many others like it, whose attempts share its machine. */
export async function crowded(
  others: number,
  { wallTimeSeconds = 8 * HOUR, wait = () => ({}) }: CrowdOptions = {},
): Promise<Crowd> {
  const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 10 * HOUR } : {}) });
  await runTo(world, 'setup', { limits: { wallTimeSeconds } });
  const payload = waiting(world);
  await runAgent(payload, world.ports);
  const attempt = await world.attempt(ATTEMPT);
  const row = (await world.store.get(rowKeys.jobWait(jobId(ATTEMPT, 'run'))))?.body;
  for (let each = 0; each < others; each += 1) {
    const attemptId = otherAttempt(each);
    const unitId = `a${String(each)}`;
    const key = rowKeys.jobWait(jobId(attemptId, 'run'));
    const body = { ...row, unitId, attemptId, token: `other-${String(each)}`, ...wait(each) };
    await world.store.write([
      { put: { ...rowKeys.attempt(attemptId), body: { ...attempt, unitId, attemptId } }, when: 'any' },
      { put: { ...key, body }, when: 'any' },
    ]);
  }
  return { world, token: payload.token };
}

/** Calls the watch on the world's clock. @returns how many seconds it took. */
export async function pass(world: World): Promise<number> {
  const begun = world.clock.now().getTime();
  const ended: number[] = [];
  const work = watchRuns({}, world.ports).finally(() => ended.push(world.clock.now().getTime()));
  const done = work.catch(() => undefined);
  for (let turn = 0; turn < 500 && ended.length === 0; turn += 1) await world.clock.advance(1000);
  await done;
  await work;
  return ((ended[0] ?? Number.NaN) - begun) / 1000;
}

export interface Watched {
  /** What was asked about, in order. */
  readonly asked: string[];
  most: number;
}

/** Has each ask take so many seconds and counts how many there are at once. What `answer` throws, it throws. */
export function counted<A extends readonly unknown[], R>(
  world: World,
  seconds: number,
  ask: (...args: A) => Promise<R>,
): { readonly seen: Watched; readonly call: (...args: A) => Promise<R> } {
  const seen: Watched = { asked: [], most: 0 };
  let atOnce = 0;
  const call = async (...args: A): Promise<R> => {
    seen.asked.push(String(args.at(-1)));
    atOnce += 1;
    seen.most = Math.max(seen.most, atOnce);
    try {
      if (seconds > 0) await world.clock.sleep(seconds * 1000);
      return await ask(...args);
    } finally {
      atOnce -= 1;
    }
  };
  return { seen, call };
}
