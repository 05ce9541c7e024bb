import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { jobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { closeAttempt } from '#usecases/close-attempt';
import { collectOutput } from '#usecases/collect-output';
import { onRunFinished } from '#usecases/on-run-finished';
import { recordUnit } from '#usecases/record-unit';
import { releaseSandbox } from '#usecases/release-sandbox';
import { runAgent } from '#usecases/run-agent';
import { stageUnit } from '#usecases/stage-unit';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, failure, ids, runTo, waiting } from '#test/builders/attempt-run';
import { World, type WorldOptions } from '#test/builders/world';

const SPOT = 'EC2 Spot Instance Interruption Warning';
const RUN = jobId(ATTEMPT, 'run');

/** A world whose agent is under way, with the token its state waits on. */
async function running(options: WorldOptions = {}): Promise<{ readonly world: World; readonly token: string }> {
  const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 300 } : {}), ...options });
  await runTo(world, 'setup');
  const payload = waiting(world);
  await runAgent(payload, world.ports);
  return { world, token: payload.token };
}

const sandboxId = (world: World): string => world.machines.held[0]?.sandboxId ?? '';

/** What the machine does after its state failed: release, record, close. */
async function end(world: World, name: string, state = 'RunAgent') {
  const error = failure(name, state);
  await releaseSandbox(ids, world.ports);
  await recordUnit({ ...ids, error }, world.ports);
  return await closeAttempt({ ...ids, error }, world.ports);
}

describe('a sandbox that is gone while the agent runs', () => {
  it('with the provider’s evidence is the platform’s loss and earns another attempt', async () => {
    const { world, token } = await running();
    await world.machines.lose(sandboxId(world), SPOT);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(token)).toMatchObject({ error: 'SandboxLostError' });
    expect((await world.attempt(ATTEMPT)).evidence).toBe(SPOT);
    expect(await end(world, 'SandboxLostError')).toEqual({ retry: true, nextAttempt: 2 });
    const attempt = await world.attempt(ATTEMPT);
    expect(attempt.verdict).toMatchObject({
      blame: 'platform',
      signatureId: 'sandbox-lost-evident',
      ledgerClass: 'lost',
    });
    const record = world.runTree.json(`${String(attempt.runDir)}/record.json`);
    expect(record).toMatchObject({
      error: { name: 'SandboxLostError', evidence: SPOT },
      verdict: { blame: 'platform' },
    });
  });

  it('without evidence is the agent’s own end', async () => {
    const { world, token } = await running();
    await world.machines.lose(sandboxId(world), null);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.has(token)).toBe(false);
    await world.clock.advance(60_000);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(token)).toMatchObject({ error: 'SandboxLostError' });
    expect(await end(world, 'SandboxLostError')).toEqual({ retry: false, nextAttempt: 2 });
    expect((await world.attempt(ATTEMPT)).verdict).toMatchObject({ blame: 'agent', ledgerClass: 'forfeited' });
  });

  it('whose provider says why only after it was seen gone is the platform’s loss too', async () => {
    const { world } = await running();
    const id = sandboxId(world);
    await world.machines.lose(id, null);
    await watchRuns({}, world.ports);
    await world.clock.advance(60_000);
    await watchRuns({}, world.ports);
    world.machines.states.set(id, { state: 'gone', evidence: SPOT });
    expect(await end(world, 'SandboxLostError')).toMatchObject({ retry: true });
    expect((await world.attempt(ATTEMPT)).verdict).toMatchObject({ blame: 'platform' });
  });

  it('before the agent’s job had started is ours', async () => {
    const world = new World({
      guestFault: (when, act, subject) => {
        if (when === 'before' && act === 'start' && subject === RUN)
          throw new ExamHallError('ChannelUnavailableError', 'no answer');
      },
    });
    await runTo(world, 'setup');
    await expect(runAgent(waiting(world), world.ports)).rejects.toThrow('no answer');
    expect((await world.attempt(ATTEMPT)).agentStartedAt).toBeNull();
    expect(await end(world, 'ChannelUnavailableError')).toMatchObject({ retry: true });
    expect((await world.attempt(ATTEMPT)).verdict).toMatchObject({ blame: 'platform', ledgerClass: 'lost' });
  });

  it('while it is staged is ours, with no evidence needed', async () => {
    const world = new World({ script: () => ({ seconds: 60 }) });
    await runTo(world, 'await');
    const payload = waiting(world);
    await stageUnit(payload, world.ports);
    await world.machines.lose(sandboxId(world), null);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(payload.token)).toMatchObject({ error: 'SandboxLostError' });
    expect(await end(world, 'SandboxLostError', 'StageUnit')).toMatchObject({ retry: true });
  });

  it('is asked for evidence before it is given up, when only the channel failed', async () => {
    const world = new World();
    await runTo(world, 'run');
    await world.machines.lose(sandboxId(world), SPOT);
    await expect(collectOutput(waiting(world), world.ports)).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    expect(await end(world, 'ChannelUnavailableError', 'CollectOutput')).toMatchObject({ retry: true });
    expect(await world.attempt(ATTEMPT)).toMatchObject({ evidence: SPOT, verdict: { blame: 'platform' } });
  });

  it('is asked about a last time before the agent is blamed, when its release never came to that', async () => {
    const world = new World();
    await runTo(world, 'run');
    await world.machines.lose(sandboxId(world), SPOT);
    const error = failure('ChannelUnavailableError', 'CollectOutput');
    await recordUnit({ ...ids, error }, world.ports);
    expect(await closeAttempt({ ...ids, error }, world.ports)).toMatchObject({ retry: true });
    const { runDir, verdict } = await world.attempt(ATTEMPT);
    expect(verdict).toMatchObject({ blame: 'platform' });
    expect(world.runTree.json(`${String(runDir)}/record.json`)).toMatchObject({ verdict });
  });

  it('is not released before its provider could be asked', async () => {
    let isDown = false;
    const { world } = await running({
      machineFault: (when, act) => {
        if (when === 'before' && act === 'describe' && isDown)
          throw new ExamHallError('ProvisionFailedError', 'no answer');
      },
    });
    isDown = true;
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'ReleaseFailedError' });
    expect(world.machines.held.length).toBe(1);
    isDown = false;
    await releaseSandbox(ids, world.ports);
    expect(world.machines.held).toEqual([]);
  });

  it('keeps its evidence when the store does not take it at first', async () => {
    const { world } = await running();
    await world.machines.lose(sandboxId(world), SPOT);
    const write = world.store.write.bind(world.store);
    let failures = 1;
    world.store.write = async (writes) => {
      if (JSON.stringify(writes).includes(SPOT) && failures-- > 0)
        throw new ExamHallError('StoreUnavailableError', 'no answer');
      await write(writes);
    };
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    await releaseSandbox(ids, world.ports);
    expect((await world.attempt(ATTEMPT)).evidence).toBe(SPOT);
  });
});

describe('a guest that is silent while its machine is there', () => {
  const silent: WorldOptions = {
    guestFault: (when, act) => {
      if (when === 'before' && act === 'status' && isSilent)
        throw new ExamHallError('ChannelUnavailableError', 'no answer');
    },
  };
  let isSilent = false;

  const minutes = async (world: World, count: number): Promise<void> => {
    for (let minute = 0; minute < count; minute += 1) {
      await world.clock.advance(60_000);
      await watchRuns({}, world.ports);
    }
  };

  it('keeps its beat for ten minutes from the first look it misses, then its state is told', async () => {
    isSilent = false;
    const { world, token } = await running({ ...silent, script: () => ({ seconds: 7200 }) });
    isSilent = true;
    await minutes(world, 10);
    expect(world.tokens.answers.has(token)).toBe(false);
    expect(world.tokens.beats.filter((beat) => beat === token).length).toBe(10);
    await minutes(world, 1);
    expect(world.tokens.answers.get(token)).toMatchObject({ error: 'ChannelUnavailableError' });
    expect(await end(world, 'ChannelUnavailableError')).toMatchObject({ retry: false });
    expect((await world.attempt(ATTEMPT)).verdict).toMatchObject({
      blame: 'platform',
      signatureId: 'trusted-guest-silent',
      ledgerClass: 'lost',
    });
  });

  it('starts anew when it answers in between', async () => {
    isSilent = false;
    const { world, token } = await running({ ...silent, script: () => ({ seconds: 7200 }) });
    for (const quiet of [true, false, true]) {
      isSilent = quiet;
      await minutes(world, 9);
    }
    expect(world.tokens.answers.has(token)).toBe(false);
    isSilent = false;
    await minutes(world, 2);
    expect((await world.store.get(rowKeys.jobWait(RUN)))?.body['unreachableSince']).toBeNull();
  });
});

describe('the event of a job’s end', () => {
  it('that comes twice answers once', async () => {
    const { world, token } = await running();
    await world.clock.advance(300_000);
    await onRunFinished({ jobId: RUN }, world.ports);
    const { outcome } = await world.attempt(ATTEMPT);
    await onRunFinished({ jobId: RUN }, world.ports);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
    expect((await world.attempt(ATTEMPT)).outcome).toEqual(outcome);
    expect(await world.keysIn(rowKeys.jobWait('').pk)).toEqual([]);
  });

  it('that comes early changes nothing', async () => {
    const { world, token } = await running();
    await onRunFinished({ jobId: RUN }, world.ports);
    expect(world.tokens.answers.has(token)).toBe(false);
    expect((await world.attempt(ATTEMPT)).outcome).toBeNull();
  });

  it('that is lost is found by the watch', async () => {
    const { world, token } = await running();
    await world.clock.advance(300_000);
    expect(world.tokens.answers.has(token)).toBe(false);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
    expect(world.log.events).toContain('job.lost-event');
  });

  it('for a job nobody knows is no error', async () => {
    const { world } = await running();
    await expect(onRunFinished({ jobId: 'nobody.1~run' }, world.ports)).resolves.toBeUndefined();
    await expect(onRunFinished({ jobId: 'not a job' }, world.ports)).resolves.toBeUndefined();
  });

  it('marks the agent as begun, though the function that started it never came to that', async () => {
    const { world } = await running();
    await world.changeAttempt(ATTEMPT, { agentStartedAt: null });
    await world.clock.advance(300_000);
    await onRunFinished({ jobId: RUN }, world.ports);
    expect((await world.attempt(ATTEMPT)).agentStartedAt).not.toBeNull();
  });
});

describe('run-agent', () => {
  it('attaches to the job that runs, with the new token', async () => {
    const { world, token } = await running();
    const again = waiting(world);
    await runAgent(again, world.ports);
    expect(world.guest.jobs.filter(({ jobId: id }) => id === RUN).length).toBe(1);
    await world.clock.advance(300_000);
    await onRunFinished({ jobId: RUN }, world.ports);
    expect(world.tokens.answers.has(token)).toBe(false);
    expect(world.tokens.answers.get(again.token)).toEqual({ output: {} });
  });

  it('is content when the job runs and only the wait could not be armed', async () => {
    const { world, token } = await running({
      guestFault: (when, act, subject) => {
        if (when === 'before' && act === 'wait' && subject === RUN)
          throw new ExamHallError('ChannelUnavailableError', 'no answer');
      },
    });
    expect(world.log.events).toContain('job.not-awaited');
    await world.clock.advance(300_000);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(token)).toEqual({ output: {} });
  });

  it('is ours when the job could not be spawned, whoever tried', async () => {
    const { world, token } = await running({
      script: (job) =>
        job.kind === 'exec' ? { result: { end: 'spawn-failed', exitCode: null, message: 'ENOENT' } } : {},
    });
    await onRunFinished({ jobId: RUN }, world.ports);
    expect(world.tokens.answers.get(token)).toMatchObject({ error: 'AgentLaunchError' });
    expect(await end(world, 'AgentLaunchError')).toMatchObject({ retry: true });
  });
});
