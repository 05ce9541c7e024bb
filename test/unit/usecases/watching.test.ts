import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { jobId } from '#core/ids';
import { ASK_WITHIN_SECONDS, watchRuns } from '#usecases/watch-runs';
import { ATTEMPT } from '#test/builders/attempt-run';
import { crowded, pass } from '#test/builders/watch-crowd';

const HOUR = 3600;
/** How long a channel asks a guest that says nothing. */
const SILENCE_SECONDS = 75;

const SILENT = 150;

/** Runs passes for half an hour; says when tokens were beaten and how many guests were asked at once. */
async function halfAnHour() {
  const { world, token } = await crowded(SILENT);
  const status = world.guest.status.bind(world.guest);
  const beats = new Map<string, number[]>();
  const seconds: number[] = [];
  const counts = { atOnce: 0, most: 0, mine: 0, lateBeats: 0 };
  let hasAsked = false;
  world.guest.status = async (sandbox, id) => {
    hasAsked = true;
    counts.atOnce += 1;
    counts.most = Math.max(counts.most, counts.atOnce);
    try {
      if (id === jobId(ATTEMPT, 'run')) {
        counts.mine += 1;
        return await status(sandbox, id);
      }
      await world.clock.sleep(SILENCE_SECONDS * 1000);
      throw new ExamHallError('ChannelUnavailableError', 'no answer');
    } finally {
      counts.atOnce -= 1;
    }
  };
  const heartbeat = world.tokens.heartbeat.bind(world.tokens);
  world.tokens.heartbeat = async (told) => {
    if (hasAsked) counts.lateBeats += 1;
    beats.set(told, [...(beats.get(told) ?? []), world.clock.now().getTime() / 1000]);
    return await heartbeat(told);
  };
  await world.clock.advance(60_000);
  const end = world.clock.now().getTime() + (HOUR / 2) * 1000;
  // A tick that comes while a pass runs waits for it.
  while (world.clock.now().getTime() < end) {
    hasAsked = false;
    const took = await pass(world);
    seconds.push(took);
    await world.clock.advance((60 - (took % 60)) * 1000);
  }
  return { token, beats, seconds, counts };
}

describe('a pass of the watch over many guests that are silent', () => {
  it('beats every token in time, asks nobody late, and looks at the others as well', async () => {
    const { token, beats, seconds, counts } = await halfAnHour();
    expect(seconds.length).toBeGreaterThan(3);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(ASK_WITHIN_SECONDS + SILENCE_SECONDS + 1);
    expect(beats.size).toBe(SILENT + 1);
    expect(counts.lateBeats).toBe(0);
    for (const [told, times] of beats) {
      const gaps = times.slice(1).map((time, index) => time - (times[index] ?? Number.NaN));
      expect(Math.max(...gaps), told).toBeLessThan(240);
    }
    expect(beats.get(token)?.length).toBe(seconds.length);
    expect(counts.mine).toBeGreaterThan(1);
    expect(counts.most).toBeGreaterThan(1);
  });
});

describe('a job that goes on for hours', () => {
  it('is asked about every five minutes while its event is expected, and its token is beaten every minute', async () => {
    const { world, token } = await crowded(0);
    const before = world.guest.acts.length;
    for (let minute = 0; minute < 60; minute += 1) {
      await world.clock.advance(60_000);
      await watchRuns({}, world.ports);
    }
    const asked = world.guest.acts.slice(before);
    expect(new Set(asked)).toEqual(new Set([`status ${jobId(ATTEMPT, 'run')}`]));
    expect(asked.length).toBeLessThanOrEqual(15);
    expect(world.tokens.beats.filter((beat) => beat === token).length).toBe(60);
  });

  it('is asked about every minute once its wall limit is over and no event has come', async () => {
    const { world } = await crowded(0, { wallTimeSeconds: HOUR });
    await world.clock.advance((HOUR + 60) * 1000);
    const before = world.guest.acts.length;
    for (let minute = 0; minute < 5; minute += 1) {
      await watchRuns({}, world.ports);
      await world.clock.advance(60_000);
    }
    expect(world.guest.acts.length - before).toBe(5);
  });

  it('whose machine is gone is told within a minute, however seldom its guest is asked', async () => {
    const { world, token } = await crowded(0);
    for (let minute = 0; minute < 20; minute += 1) {
      await world.clock.advance(60_000);
      await watchRuns({}, world.ports);
    }
    await world.machines.lose(world.machines.held[0]?.sandboxId ?? '', 'EC2 Spot Instance Interruption Warning');
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(token)).toMatchObject({ error: 'SandboxLostError' });
  });
});
