import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { closeAttempt } from '#usecases/close-attempt';
import { collectOutput } from '#usecases/collect-output';
import { recordUnit } from '#usecases/record-unit';
import { releaseSandbox } from '#usecases/release-sandbox';
import { runAgent } from '#usecases/run-agent';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, failure, ids, runTo, waiting } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const CALL = { evidence: 'ended through the API of the provider', isEndByCall: true } as const;

/** A world whose agent is under way. */
async function running(): Promise<{ readonly world: World; readonly sandboxId: string }> {
  const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 300 } : {}) });
  await runTo(world, 'setup');
  await runAgent(waiting(world), world.ports);
  return { world, sandboxId: world.machines.held[0]?.sandboxId ?? '' };
}

/** What the machine does once its state has failed and the sandbox is released. */
async function settle(world: World, name = 'SandboxLostError', state = 'RunAgent') {
  const error = failure(name, state);
  await recordUnit({ ...ids, error }, world.ports);
  await closeAttempt({ ...ids, error }, world.ports);
  return await world.attempt(ATTEMPT);
}

describe('a machine that a call of the provider’s API ended', () => {
  it.each(['gone', 'stopped'] as const)('under the agent, %s now, is nothing the agent could do', async (state) => {
    const { world, sandboxId } = await running();
    world.machines.states.set(sandboxId, { state, ...CALL });
    await watchRuns({}, world.ports);
    await releaseSandbox(ids, world.ports);
    const attempt = await settle(world);
    expect(attempt).toMatchObject({ evidence: CALL.evidence, verdict: { blame: 'platform', ledgerClass: 'lost' } });
  });

  it('is asked about before the first release, which may be the first to see it', async () => {
    const world = new World();
    await runTo(world, 'run');
    const sandboxId = world.machines.held[0]?.sandboxId ?? '';
    await world.machines.lose(sandboxId, null);
    world.machines.states.set(sandboxId, { state: 'gone', ...CALL });
    await expect(collectOutput(waiting(world), world.ports)).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    await releaseSandbox(ids, world.ports);
    const attempt = await settle(world, 'ChannelUnavailableError', 'CollectOutput');
    expect(attempt).toMatchObject({ evidence: CALL.evidence, verdict: { blame: 'platform' } });
  });

  it('is asked about until its provider answers, and only then may the call have been ours', async () => {
    let isBusy = false;
    const world = new World({
      machineFault: (when, act) => {
        if (isBusy && when === 'before' && act === 'describe')
          throw new ExamHallError('StoreUnavailableError', 'RequestLimitExceeded');
      },
    });
    await runTo(world, 'run');
    const sandboxId = world.machines.held[0]?.sandboxId ?? '';
    await world.machines.lose(sandboxId, null);
    world.machines.states.set(sandboxId, { state: 'gone', ...CALL });
    isBusy = true;
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'ReleaseFailedError' });
    isBusy = false;
    await releaseSandbox(ids, world.ports);
    const attempt = await settle(world, 'ChannelUnavailableError', 'CollectOutput');
    expect(attempt).toMatchObject({ evidence: CALL.evidence, verdict: { blame: 'platform', ledgerClass: 'lost' } });
  });

  it('by our own release is no evidence, however often the release is tried and the provider asked', async () => {
    const { world, sandboxId } = await running();
    world.machines.stubborn.set(sandboxId, 1);
    world.machines.states.set(sandboxId, { state: 'stopped' });
    await watchRuns({}, world.ports);
    await world.clock.advance(60_000);
    await watchRuns({}, world.ports);
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'ReleaseFailedError' });
    world.machines.states.set(sandboxId, { state: 'gone', ...CALL });
    await releaseSandbox(ids, world.ports);
    const attempt = await settle(world);
    expect(attempt).toMatchObject({ evidence: null, verdict: { blame: 'agent', ledgerClass: 'forfeited' } });
  });

  it('by our own release is no evidence for a watch that looks late', async () => {
    const { world, sandboxId } = await running();
    await world.changeAttempt(ATTEMPT, { stageStartedAt: { release: '2026-01-01T00:00:00.000Z' } });
    world.machines.states.set(sandboxId, { state: 'gone', ...CALL });
    await watchRuns({}, world.ports);
    expect((await world.attempt(ATTEMPT)).evidence).toBeNull();
  });
});
