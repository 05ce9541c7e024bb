import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { jobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { closeAttempt } from '#usecases/close-attempt';
import { abandonUnit } from '#usecases/steps/abandon';
import { noteCommand, NOTED_SECONDS } from '#usecases/steps/commands';
import { readUnit } from '#usecases/steps/rows';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { releaseSandbox } from '#usecases/release-sandbox';
import { onRunFinished } from '#usecases/on-run-finished';
import { runAgent } from '#usecases/run-agent';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, failure, ids, runSteps, runTo, waiting } from '#test/builders/attempt-run';
import { World, type WorldOptions } from '#test/builders/world';

const RUN = jobId(ATTEMPT, 'run');

/** A world whose agent works for five minutes, and whose end a command waits for. */
async function awaited(options: WorldOptions = {}): Promise<{ readonly world: World; readonly token: string }> {
  const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 300 } : {}), ...options });
  await runTo(world, 'setup');
  const payload = waiting(world);
  await runAgent(payload, world.ports);
  await noteCommand(world.ports, 'c-1', RUN);
  world.guest.acts.length = 0;
  return { world, token: payload.token };
}

const told = async (world: World, status: string, commandId = 'c-1', requestedAt?: string): Promise<void> => {
  const requested = requestedAt === undefined ? {} : { 'requested-date-time': requestedAt };
  const detail = { 'command-id': commandId, 'instance-id': 'i-1', 'document-name': 'test-wait', status, ...requested };
  await onRunFinished(detail, world.ports);
};
/** What is known of commands: by themselves, by their attempt, and of what was sent again. */
const rows = async (world: World) => {
  const names = [rowKeys.command(''), rowKeys.commandOf(ATTEMPT, ''), rowKeys.commandSentAgain(RUN)];
  return await Promise.all(names.map(async ({ pk }) => await world.keysIn(pk)));
};
const waits = (world: World): number => world.guest.acts.filter((act) => act === `wait ${RUN}`).length;

describe('the end of a command that waits for a job', () => {
  it('resumes who waits for the job, and told again changes nothing', async () => {
    const { world, token } = await awaited();
    await world.clock.advance(300_000);
    await told(world, 'Success');
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
    const before = await world.attempt(ATTEMPT);
    await told(world, 'Success');
    await told(world, 'Failed');
    expect(await world.attempt(ATTEMPT)).toEqual(before);
    expect(waits(world)).toBe(0);
  });

  it('is believed only as far as the guest says the same', async () => {
    const { world, token } = await awaited();
    await told(world, 'Success');
    expect(world.tokens.answers.has(token)).toBe(false);
    expect(waits(world)).toBe(0);
    expect((await world.store.get(rowKeys.jobWait(RUN)))?.body).toMatchObject({ eventBy: null, lookAt: null });
    expect(world.log.events).toContain('job.not-awaited');
  });

  it('leaves its job to the watcher, who looks in every pass, when it says that all went well too early', async () => {
    const { world, token } = await awaited();
    await told(world, 'Success');
    for (let minute = 0; minute < 4; minute += 1) {
      await world.clock.advance(60_000);
      await watchRuns({}, world.ports);
    }
    expect(world.guest.acts.filter((act) => act === `status ${RUN}`).length).toBe(5);
    await world.clock.advance(60_000);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
  });

  it('says nothing before it is one', async () => {
    const { world } = await awaited();
    await told(world, 'InProgress', 'of nobody');
    expect(world.guest.acts).toEqual([]);
  });

  it('leaves nothing behind once its unit is closed, and is an error only as long as its row may come yet', async () => {
    const { world } = await awaited();
    await told(world, 'Failed');
    await noteCommand(world.ports, 'c-2', RUN);
    expect(await rows(world)).toEqual([['c-1', 'c-2'], ['c-1', 'c-2'], [RUN]]);
    await releaseSandbox(ids, world.ports);
    await closeAttempt({ ...ids, error: failure('SandboxLostError', 'RunAgent') }, world.ports);
    await runSteps(world, 'closeUnit', 'closeUnit');
    expect(await rows(world)).toEqual([[], [], []]);
    const requestedAt = world.clock.now().toISOString();
    await expect(told(world, 'TimedOut', 'c-1', requestedAt)).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    await world.clock.advance((NOTED_SECONDS + 1) * 1000);
    await told(world, 'TimedOut', 'c-1', requestedAt);
  });

  it('that ended with the machine of an abandoned unit is known until nothing of it is left', async () => {
    const { world, token } = await awaited();
    world.machines.stubborn.set(world.machines.held[0]?.sandboxId ?? '', 1);
    const { value: unit } = await readUnit(world.store, ids.sweepId, ids.unitId);
    await abandonUnit(world.ports, unit, 'its execution was stopped');
    expect((await world.attempt(ATTEMPT)).closedAt).not.toBeNull();
    await told(world, 'Failed', 'c-1', world.clock.now().toISOString());
    expect(world.tokens.answers.has(token)).toBe(false);
    await reapSandboxes({}, world.ports);
    expect(world.machines.held).toEqual([]);
    expect(await rows(world)).toEqual([[], [], []]);
  });

  it('whose job is not known yet is told again later', async () => {
    const { world, token } = await awaited();
    await world.clock.advance(300_000);
    await expect(told(world, 'Success', 'c-2')).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    await noteCommand(world.ports, 'c-2', RUN);
    await told(world, 'Success', 'c-2');
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
  });
});

describe('row 15: a command that ends without its job', () => {
  it.each(['TimedOut', 'Failed', 'Cancelled', 'Undeliverable'])(
    'with %s is sent again, once for the job',
    async (status) => {
      const { world, token } = await awaited();
      await told(world, status);
      expect(waits(world)).toBe(1);
      await told(world, status);
      await noteCommand(world.ports, 'c-2', RUN);
      await told(world, status, 'c-2');
      expect(waits(world)).toBe(1);
      expect(world.tokens.answers.has(token)).toBe(false);
      await world.clock.advance(300_000);
      await watchRuns({}, world.ports);
      expect(world.tokens.answers.get(token)).toEqual({ output: {} });
      expect(world.log.lines).toContainEqual(expect.objectContaining({ event: 'job.lost-event' }) as unknown);
    },
  );

  it('is left to the watcher when the guest cannot be reached', async () => {
    let isSilent = false;
    const { world, token } = await awaited({
      guestFault: () => {
        if (isSilent) throw new ExamHallError('ChannelUnavailableError', 'silent');
      },
    });
    isSilent = true;
    await told(world, 'TimedOut');
    await expect(told(world, 'Success')).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    isSilent = false;
    await world.clock.advance(300_000);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
  });
});
