import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { jobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { closeAttempt } from '#usecases/close-attempt';
import { noteCommand } from '#usecases/steps/commands';
import { onRunFinished } from '#usecases/on-run-finished';
import { runAgent } from '#usecases/run-agent';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, failure, ids, runTo, waiting } from '#test/builders/attempt-run';
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

const told = async (world: World, status: string, commandId = 'c-1'): Promise<void> =>
  await onRunFinished(
    { 'command-id': commandId, 'instance-id': 'i-1', 'document-name': 'test-wait', status },
    world.ports,
  );
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
  });

  it('says nothing before it is one', async () => {
    const { world } = await awaited();
    await told(world, 'InProgress', 'of nobody');
    expect(world.guest.acts).toEqual([]);
  });

  it('leaves nothing behind once its attempt is over, and is no error when it comes later still', async () => {
    const { world } = await awaited();
    await told(world, 'Failed');
    await noteCommand(world.ports, 'c-2', RUN);
    const names = [rowKeys.command(''), rowKeys.commandOf(ATTEMPT, ''), rowKeys.commandSentAgain(RUN)];
    const rows = async () => await Promise.all(names.map(async ({ pk }) => await world.keysIn(pk)));
    expect(await rows()).toEqual([['c-1', 'c-2'], ['c-1', 'c-2'], [RUN]]);
    const requestedAt = world.clock.now().toISOString();
    await closeAttempt({ ...ids, error: failure('SandboxLostError', 'RunAgent') }, world.ports);
    expect(await rows()).toEqual([[], [], []]);
    const late = { 'command-id': 'c-1', 'instance-id': 'i-1', 'document-name': 'test-wait', status: 'TimedOut' };
    await world.clock.advance(11 * 60_000);
    await onRunFinished({ ...late, 'requested-date-time': requestedAt }, world.ports);
    const sentNow = { ...late, 'requested-date-time': world.clock.now().toISOString() };
    await expect(onRunFinished(sentNow, world.ports)).rejects.toMatchObject({ name: 'StoreUnavailableError' });
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
