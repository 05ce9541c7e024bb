import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import type { StateError } from '#core/rows';
import { closeAttempt } from '#usecases/close-attempt';
import { collectOutput } from '#usecases/collect-output';
import { recordUnit } from '#usecases/record-unit';
import { releaseSandbox } from '#usecases/release-sandbox';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, ids, runTo, waiting } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';
import { machine } from '#test/state-machines/definitions';

const HOST_LOST = 'EC2 reports a failed system status check';
const SYSTEMS = ['linux', 'windows'] as const;

/** How often the state asks for the stop in all: a silence that is shorter costs nothing. */
const TRIES = 1 + triesAgain();

function triesAgain(): number {
  const states = machine('unit').States as Readonly<Record<string, { readonly Retry?: readonly Retrier[] }>>;
  const retriers = states['CollectOutput']?.Retry ?? [];
  const counts = ['ChannelUnavailableError', 'StopUnconfirmedError', 'CollectFailedError'].map(
    (name) => retriers.find(({ ErrorEquals }) => ErrorEquals.includes(name))?.MaxAttempts ?? 0,
  );
  expect(new Set(counts).size).toBe(1);
  return counts[0] ?? 0;
}

interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly MaxAttempts: number;
}

interface Case {
  readonly privilege: 'restricted' | 'upstream';
  readonly what: string;
  /** Tries of the stop that nobody answers, or answers that the guest is unsure. */
  readonly silent: number;
  readonly isUnsure?: true;
  /** What the provider says of the machine meanwhile. */
  readonly provider: { readonly state: 'ready' | 'gone'; readonly evidence?: string | null };
  readonly error: string | null;
  readonly verdict: {
    readonly blame: string;
    readonly retry: boolean;
    readonly ledgerClass: string;
    readonly signatureId: string;
  } | null;
  readonly because: string;
}

const THERE = { state: 'ready' } as const;
const EVIDENT = { state: 'ready', evidence: HOST_LOST } as const;
const UNKNOWN = { blame: 'platform', retry: false, ledgerClass: 'lost', signatureId: 'trusted-guest-unsure' } as const;
const FORFEIT = { blame: 'agent', retry: false, ledgerClass: 'forfeited' } as const;
const AGAIN = { blame: 'platform', retry: true, ledgerClass: 'lost' } as const;

/** One for each privilege and way to be silent; the system of the guest changes none of them. */
const CASES: readonly Case[] = [
  {
    ...{ privilege: 'restricted', what: 'answers the last time it is asked', silent: TRIES - 1, provider: THERE },
    ...{ error: null, verdict: null, because: 'a pause costs nobody anything' },
  },
  {
    ...{ privilege: 'upstream', what: 'answers the last time it is asked', silent: TRIES - 1, provider: THERE },
    ...{ error: null, verdict: null, because: 'root can say what it likes, and its output is graded as it is' },
  },
  {
    ...{ privilege: 'restricted', what: 'never answers', silent: TRIES, provider: THERE },
    ...{ error: 'StopUnconfirmedError', verdict: UNKNOWN },
    because: 'the agent cannot end the runner, yet can starve the machine: no zero, and no other attempt',
  },
  {
    ...{ privilege: 'restricted', what: 'says that it is unsure', silent: TRIES, isUnsure: true, provider: THERE },
    ...{ error: 'StopUnconfirmedError', verdict: UNKNOWN, because: 'too slow is silent a little later' },
  },
  {
    ...{ privilege: 'upstream', what: 'never answers', silent: TRIES, provider: THERE },
    ...{ error: 'StopUnconfirmedError', verdict: { ...FORFEIT, signatureId: 'untrusted-guest-reports' } },
    because: 'root can end the runner and whatever carries its answers',
  },
  {
    ...{ privilege: 'upstream', what: 'says that it is unsure', silent: TRIES, isUnsure: true, provider: THERE },
    ...{ error: 'StopUnconfirmedError', verdict: { ...FORFEIT, signatureId: 'untrusted-guest-reports' } },
    because: 'root can say so',
  },
  ...(['restricted', 'upstream'] as const).flatMap((privilege): Case[] => [
    {
      ...{ privilege, what: 'never answers on a machine that its host fails', silent: TRIES, provider: EVIDENT },
      ...{ error: 'StopUnconfirmedError', verdict: { ...AGAIN, signatureId: 'stop-unconfirmed' } },
      because: 'the provider saw a fault that no guest can make',
    },
    {
      ...{ privilege, what: 'is gone, and its provider knows why', silent: TRIES },
      provider: { state: 'gone', evidence: HOST_LOST },
      ...{ error: 'ChannelUnavailableError', verdict: { ...AGAIN, signatureId: 'sandbox-lost-evident' } },
      because: 'the provider ended it',
    },
    {
      ...{ privilege, what: 'is gone, and its provider knows of no fault', silent: TRIES },
      provider: { state: 'gone', evidence: null },
      ...{ error: 'ChannelUnavailableError', verdict: { ...FORFEIT, signatureId: 'sandbox-lost-by-agent' } },
      because: 'what is ended neither by its provider nor through its API has ended itself',
    },
  ]),
];

async function worldOf({ privilege, silent, isUnsure, provider }: Case, os: (typeof SYSTEMS)[number]): Promise<World> {
  let asked = 0;
  const world = new World({
    guestFault: (when, act) => {
      if (when !== 'before' || act !== 'stop') return;
      asked += 1;
      world.guest.unsure = isUnsure === true && asked <= silent ? 'the last look failed' : undefined;
      if (isUnsure !== true && asked <= silent)
        throw new ExamHallError('ChannelUnavailableError', 'no end of stop in time: Terminated, ENOSPC');
    },
  });
  await runTo(world, 'run', { privilege });
  const { sandbox } = await world.attempt(ATTEMPT);
  await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, os } });
  const state = provider.state === 'gone' ? { ...provider, evidence: provider.evidence ?? null } : provider;
  world.machines.states.set(String(sandbox?.['sandboxId']), state as { state: 'ready' });
  return world;
}

/** Asks as often as the state does, and ends the attempt with what the last one met. */
async function stopped(world: World): Promise<StateError | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      await collectOutput(waiting(world), world.ports);
      return null;
    } catch (failed) {
      if (!(failed instanceof ExamHallError)) throw failed;
      if (tries >= TRIES) return { name: failed.name, message: failed.message, state: 'CollectOutput' };
    }
  }
}

describe.each(SYSTEMS)('a %s guest that is silent at the stop of its agent', (os) => {
  it.each(CASES)('with privilege $privilege, and $what: $because', async (given) => {
    const world = await worldOf(given, os);
    const error = await stopped(world);
    expect(error?.name ?? null).toBe(given.error);
    if (error === null) {
      expect(world.guest.jobs.at(-1)?.kind).toBe('collect');
      return;
    }
    expect(world.guest.jobs.some(({ kind }) => kind === 'collect')).toBe(false);
    await releaseSandbox(ids, world.ports);
    await recordUnit({ ...ids, error }, world.ports);
    const { retry } = await closeAttempt({ ...ids, error }, world.ports);
    expect({ retry, verdict: (await world.attempt(ATTEMPT)).verdict }).toMatchObject({
      retry: given.verdict?.retry,
      verdict: given.verdict,
    });
  });

  it('whose silence begins once the stop is confirmed is ours: nothing of the agent is left to make it', async () => {
    const world = new World({
      guestFault: (when, act, subject) => {
        if (when === 'before' && act === 'start' && subject.endsWith('collect'))
          throw new ExamHallError('ChannelUnavailableError', 'no answer: Undeliverable');
      },
    });
    await runTo(world, 'run', { privilege: 'restricted' });
    const { sandbox } = await world.attempt(ATTEMPT);
    await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, os } });
    const error = await stopped(world);
    expect(error?.name).toBe('CollectFailedError');
    expect(await closeAttempt({ ...ids, error }, world.ports)).toMatchObject({ retry: true });
    expect((await world.attempt(ATTEMPT)).verdict).toMatchObject({ ...AGAIN, signatureId: 'collect-failed' });
  });

  it('whose silence begins while its output is collected is ours too, told by the watch after ten minutes', async () => {
    let isSilent = false;
    const world = new World({
      script: (job) => ({ seconds: job.kind === 'collect' ? 7200 : 0 }),
      guestFault: (when, act) => {
        if (when === 'before' && act === 'status' && isSilent)
          throw new ExamHallError('ChannelUnavailableError', 'no answer: Undeliverable');
      },
    });
    await runTo(world, 'run', { privilege: 'restricted' });
    const { sandbox } = await world.attempt(ATTEMPT);
    await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, os } });
    const payload = waiting(world);
    await collectOutput(payload, world.ports);
    isSilent = true;
    for (let minute = 0; minute < 11; minute += 1) {
      await world.clock.advance(60_000);
      await watchRuns({}, world.ports);
    }
    const told = world.tokens.answers.get(payload.token) as { readonly error: string; readonly cause: string };
    expect(told.error).toBe('CollectFailedError');
    expect(told.cause).toMatch(/^its machine is there, and its guest has not answered since 2026-/u);
    const error = { name: told.error, message: told.cause, state: 'CollectOutput' };
    expect(await closeAttempt({ ...ids, error }, world.ports)).toMatchObject({ retry: true });
    expect((await world.attempt(ATTEMPT)).verdict).toMatchObject({ ...AGAIN, signatureId: 'collect-failed' });
  });
});
