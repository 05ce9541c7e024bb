import { describe, expect, it } from 'vitest';
import { STOP_SECONDS } from '#adapters/ssm-channel';
import { HELLO_SECONDS } from '#adapters/ssm-readiness';
import { MARGIN_SECONDS } from '#adapters/ssm-requests';
import { FUNCTIONS, functionNamed } from '#contracts/functions';
import { ExamHallError } from '#core/errors';
import { jobId } from '#core/ids';
import { LAST_LOOK_SECONDS } from '#usecases/await-sandbox';
import { collectOutput } from '#usecases/collect-output';
import { onRunFinished } from '#usecases/on-run-finished';
import { runAgent } from '#usecases/run-agent';
import { setUpTask } from '#usecases/set-up-task';
import { stageUnit } from '#usecases/stage-unit';
import { noteCommand } from '#usecases/steps/commands';
import { ASK_WITHIN_SECONDS, LATEST_SECONDS, MACHINES_WITHIN_SECONDS } from '#usecases/watch-runs';
import { ATTEMPT, ids, runTo, waiting, type StepName } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const DESKTOP = {
  serverUrl: 'http://127.0.0.1:5000',
  endpoint: { url: 'http://127.0.0.1:5000', socketPath: null },
  env: {},
  bridge: '/opt/examhall/bridge/cua-desktop.mjs',
} as const;
/** For the rest of a function: rows, objects and the sending of commands. */
const OWN_SECONDS = 15;

type Fails = 'stage' | 'start' | 'collect' | null;

/** An attempt with a screen, and a count of how long its guest could be asked by what is asked of it. */
class AskedWorld {
  fails: Fails = null;
  readonly world = new World({
    script: ({ kind, jobId: id }) => {
      if (kind === 'exec') return { seconds: 60 };
      return { result: { exitCode: this.fails !== null && id.includes(this.fails) ? 1 : 0 } };
    },
    guestFault: (when, act, subject) => {
      if (this.fails === 'start' && when === 'after' && act === 'start' && subject === jobId(ATTEMPT, 'run'))
        throw new ExamHallError('ChannelUnavailableError', 'the answer is lost');
    },
  });
  #seconds = 0;
  #started = new Set<string>();

  /** As the channel to machines of EC2 asks: each verb its own time and a margin, and the state of a job it has not started. */
  constructor() {
    const { guest } = this.world;
    const { start, status, stop, call, wait } = guest;
    guest.start = async (sandbox, job) => {
      this.#ask(0);
      await start.call(guest, sandbox, job);
      this.#started.add(job.jobId);
    };
    guest.status = async (sandbox, id) => {
      this.#ask(0);
      return await status.call(guest, sandbox, id);
    };
    guest.wait = async (sandbox, id) => {
      if (!this.#started.delete(id)) this.#ask(0);
      await wait.call(guest, sandbox, id);
    };
    guest.stop = async (sandbox, id) => {
      this.#ask(STOP_SECONDS);
      return await stop.call(guest, sandbox, id);
    };
    guest.call = async (sandbox, calls, seconds = 0) => {
      this.#ask(seconds);
      return await call.call(guest, sandbox, calls);
    };
  }

  #ask(seconds: number): void {
    this.#seconds += seconds + MARGIN_SECONDS;
  }

  async runTo(step: StepName): Promise<void> {
    await runTo(this.world, step);
    const { sandbox } = await this.world.attempt(ATTEMPT);
    await this.world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, desktop: DESKTOP } });
  }

  /** Seconds that guests could take of one call. */
  async secondsOf(call: (world: World) => Promise<void>): Promise<number> {
    this.#seconds = 0;
    this.#started = new Set();
    await call(this.world).catch((error: unknown) => {
      if (!(error instanceof Error && error.name === 'ChannelUnavailableError')) throw error;
    });
    return this.#seconds;
  }
}

interface Call {
  readonly name: string;
  readonly after: StepName;
  readonly fails: Fails;
  readonly call: (world: World) => Promise<void>;
}

const stage = async (world: World): Promise<void> => await stageUnit(waiting(world), world.ports);
const run = async (world: World): Promise<void> => await runAgent(waiting(world), world.ports);
const collect = async (world: World): Promise<void> => await collectOutput(waiting(world), world.ports);
const setUp = async (world: World): Promise<void> => await setUpTask(ids, world.ports);

const CALLS: readonly Call[] = [
  { name: 'stage-unit', after: 'await', fails: null, call: stage },
  { name: 'stage-unit', after: 'await', fails: 'stage', call: stage },
  { name: 'set-up-task', after: 'stage', fails: null, call: setUp },
  { name: 'run-agent', after: 'setup', fails: null, call: run },
  { name: 'run-agent', after: 'setup', fails: 'start', call: run },
  { name: 'collect-output', after: 'run', fails: 'collect', call: collect },
];

/** What a function waits for besides its guest: the task's own module. */
const BESIDES: Readonly<Record<string, number>> = { 'set-up-task': 60 + 540 };

describe('a function that asks guests', () => {
  it.each(CALLS)('has time for all that it asks: $name after $after, when $fails fails', async (asking) => {
    const { name, after, fails, call } = asking;
    const asked = new AskedWorld();
    await asked.runTo(after);
    asked.fails = fails;
    const most = Math.max(await asked.secondsOf(call), await asked.secondsOf(call));
    expect(most).toBeGreaterThanOrEqual(MARGIN_SECONDS);
    expect(most + (BESIDES[name] ?? 0) + OWN_SECONDS).toBeLessThanOrEqual(functionNamed(name).timeoutSeconds);
  });

  it('has time for all that it asks: on-run-finished, for a command that is sent again', async () => {
    const asked = new AskedWorld();
    await asked.runTo('setup');
    await run(asked.world);
    await noteCommand(asked.world.ports, 'c-1', jobId(ATTEMPT, 'run'));
    const detail = { 'command-id': 'c-1', status: 'TimedOut' } as Parameters<typeof onRunFinished>[0];
    const seconds = await asked.secondsOf(async (world) => await onRunFinished(detail, world.ports));
    expect(seconds).toBe(2 * MARGIN_SECONDS);
    expect(seconds + OWN_SECONDS).toBeLessThanOrEqual(functionNamed('on-run-finished').timeoutSeconds);
  });

  it('has time for its last look: await-sandbox', () => {
    const most = LAST_LOOK_SECONDS + HELLO_SECONDS + OWN_SECONDS;
    expect(most).toBeLessThanOrEqual(functionNamed('await-sandbox').timeoutSeconds);
  });

  it('has time for the last guest of a pass, and beats again before a heartbeat is missed: watch-runs', () => {
    const { timeoutSeconds, trigger } = functionNamed('watch-runs');
    const { machine, stop, guest } = LATEST_SECONDS;
    const pass = Math.max(stop + STOP_SECONDS, guest + HELLO_SECONDS) + MARGIN_SECONDS + OWN_SECONDS;
    expect(MACHINES_WITHIN_SECONDS + ASK_WITHIN_SECONDS).toBeLessThanOrEqual(stop);
    expect(machine + ASK_WITHIN_SECONDS).toBeLessThanOrEqual(guest);
    const everySeconds = trigger.kind === 'schedule' ? trigger.everySeconds : Number.NaN;
    expect(pass).toBeLessThanOrEqual(timeoutSeconds);
    // The heartbeats of unit.asl.json; the tick after the pass comes within a period.
    expect(pass + everySeconds).toBeLessThan(300);
  });

  it('is one of these, or a grader that has limits of its own', () => {
    const asking = FUNCTIONS.filter(({ needs }) => needs.some(({ port }) => port === 'channel')).map(
      ({ name }) => name,
    );
    const here = [...CALLS.map(({ name }) => name), 'await-sandbox', 'on-run-finished', 'watch-runs'];
    expect(new Set(asking)).toEqual(new Set([...here, 'run-sandbox-grader']));
  });
});
