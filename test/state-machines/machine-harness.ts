import { readFileSync } from 'node:fs';
import type { ExecutionEvent, HistoryEvent } from '#local/asl/host';
import { Interpreter, type ExecutionHandle } from '#local/asl/interpreter';
import { VirtualClock } from '#local/clock';
import { loadMachines } from '#local/machines';

export type Payload = Readonly<Record<string, unknown>>;

export interface Call {
  readonly functionName: string;
  readonly payload: Payload;
  readonly bytes: number;
  /** Virtual seconds since the start. */
  readonly at: number;
}

/** What a function does. Its answer, or undefined; a token it was given is its own to use. */
export type Behaviour = (payload: Payload, harness: MachineHarness, tries: number) => unknown;

export function example(name: 'sweep' | 'unit' | 'grade'): Payload {
  return JSON.parse(readFileSync(`state-machines/examples/${name}.json`, 'utf8')) as Payload;
}

export function named(name: string, message = 'failed on purpose'): Error {
  return Object.assign(new Error(message), { name });
}

export const fail =
  (name: string, message?: string): Behaviour =>
  () => {
    throw named(name, message);
  };

const START = Date.parse('2026-01-01T00:00:00.000Z');
const definitions = await loadMachines();

/** The real machines on a virtual clock, with functions that behave as told and otherwise without faults. */
export class MachineHarness {
  readonly clock = new VirtualClock();
  readonly calls: Call[] = [];
  readonly events: ExecutionEvent[] = [];
  readonly history: HistoryEvent[] = [];
  readonly objects = new Map<string, string>();
  readonly behaviours: Record<string, Behaviour>;
  readonly interpreter: Interpreter;
  #ids = 0;

  /** Machines from elsewhere may name functions by ARN. */
  constructor(
    behaviours: Readonly<Record<string, Behaviour>> = {},
    machines: Readonly<Record<string, unknown>> = definitions,
  ) {
    this.behaviours = { ...FAULTLESS, ...behaviours };
    const newId = (): string => `id-${String((this.#ids += 1))}`;
    this.interpreter = new Interpreter({
      clock: this.clock,
      invoke: async (name, json) => await this.#invoke(name, json),
      readObject: async (bucket, key) => {
        const body = this.objects.get(`${bucket}/${key}`);
        if (body === undefined) throw named('NoSuchKey');
        return body;
      },
      writeObject: async (bucket, key, body) => void this.objects.set(`${bucket}/${key}`, body),
      newToken: newId,
      newId,
      onExecutionEvent: (event) => this.events.push(event),
      onHistoryEvent: (event) => this.history.push(event),
    });
    for (const [name, definition] of Object.entries(machines)) this.interpreter.register(name, definition);
  }

  async run(machine: 'sweep' | 'unit' | 'grade', input: Payload = example(machine)): Promise<ExecutionHandle> {
    const handle = this.interpreter.start(machine, { name: 'run', input });
    await handle.done;
    return handle;
  }

  /** Names of the functions in the order they were called. */
  get called(): readonly string[] {
    return this.calls.map(({ functionName }) => functionName);
  }

  callsOf(functionName: string): readonly Call[] {
    return this.calls.filter((call) => call.functionName === functionName);
  }

  /** Virtual seconds since the start. */
  get seconds(): number {
    return (this.clock.now().getTime() - START) / 1000;
  }

  succeed(token: unknown, output: unknown = {}): void {
    this.interpreter.sendTaskSuccess(String(token), JSON.stringify(output));
  }

  /** Beats a token every minute, until it is gone or `seconds` are over. */
  beat(token: unknown, seconds: number): void {
    const until = this.seconds + seconds;
    const again = (): void => {
      if (this.seconds >= until) return;
      try {
        this.interpreter.sendTaskHeartbeat(String(token));
      } catch {
        return;
      }
      this.clock.setTimer(60_000, again);
    };
    again();
  }

  async #invoke(called: string, json: string): Promise<string> {
    const functionName = /:function:([a-z0-9-]+):/u.exec(called)?.[1] ?? called;
    const payload = JSON.parse(json) as Payload;
    const tries = this.callsOf(functionName).length;
    this.calls.push({ functionName, payload, bytes: Buffer.byteLength(json), at: this.seconds });
    const behaviour = this.behaviours[functionName];
    if (behaviour === undefined) throw named('ResourceNotFoundException', functionName);
    return JSON.stringify((await behaviour(payload, this, tries)) ?? null);
  }
}

const answer: Behaviour = ({ token }, harness) => harness.succeed(token);

const FAULTLESS: Readonly<Record<string, Behaviour>> = {
  'admit-unit': ({ token, unitId, attempt }, harness) =>
    harness.succeed(token, { attemptId: `${String(unitId)}.${String(attempt)}` }),
  'provision-sandbox': () => null,
  'await-sandbox': answer,
  'stage-unit': answer,
  'set-up-task': () => null,
  'run-agent': answer,
  'collect-output': answer,
  'grade-unit': answer,
  'release-sandbox': () => null,
  'record-unit': () => null,
  'close-attempt': ({ attemptId }) => ({ retry: false, nextAttempt: Number(/\d+$/u.exec(String(attemptId))?.[0]) + 1 }),
  'close-unit': answer,
  'stage-grade': () => ({ stageUrl: 'http://artifacts.invalid/stage' }),
  'run-grader': () => null,
  'run-sandbox-grader': () => null,
  'commit-grade': () => null,
  'plan-sweep': () => ({ unitsToRun: 0, planKey: 'plan.jsonl', maxConcurrency: 10 }),
  'report-sweep': () => ({ planned: 0, scored: 0 }),
};
