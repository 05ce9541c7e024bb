import type { AslHost, ExecutionEvent, HistoryEvent } from '#local/asl/host';
import { type ExecutionHandle, Interpreter, type InterpreterOptions } from '#local/asl/interpreter';
import { VirtualClock } from '#local/clock';

type Behaviour = (payload: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<unknown>;

/** An interpreter on a virtual clock, with functions whose behaviour their payload chooses. */
export class AslHarness {
  readonly clock = new VirtualClock();
  readonly objects = new Map<string, string>();
  readonly events: ExecutionEvent[] = [];
  readonly history: HistoryEvent[] = [];
  readonly invocations: { readonly functionName: string; readonly payload: unknown }[] = [];
  /** Tokens by the order they were handed out. */
  readonly tokens: string[] = [];
  /** Errors of token calls made by functions, by name. */
  readonly tokenErrors: string[] = [];
  readonly interpreter: Interpreter;
  readonly behaviours: Record<string, Behaviour>;
  #ids = 0;
  #flaky = 0;

  constructor(options: InterpreterOptions = {}, overrides: Partial<AslHost> = {}) {
    this.behaviours = this.#makeBehaviours();
    const host: AslHost = {
      clock: this.clock,
      invoke: (functionName, payloadJson, signal) => this.#invoke(functionName, payloadJson, signal),
      readObject: async (bucket, key) => {
        const body = this.objects.get(`${bucket}/${key}`);
        if (body === undefined) throw new Error('no such key');
        return body;
      },
      writeObject: async (bucket, key, body) => void this.objects.set(`${bucket}/${key}`, body),
      newToken: () => `token-${(this.#ids += 1)}`,
      newId: () => `id-${(this.#ids += 1)}`,
      onExecutionEvent: (event) => this.events.push(event),
      onHistoryEvent: (event) => this.history.push(event),
      ...overrides,
    };
    this.interpreter = new Interpreter(host, options);
  }

  /** Registers a definition and starts it under the name `run`. */
  start(definition: unknown, input: unknown = {}): ExecutionHandle {
    this.interpreter.register('machine', definition);
    return this.interpreter.start('machine', { name: 'run', input });
  }

  /** Virtual seconds since the harness was made. */
  get seconds(): number {
    return (this.clock.now().getTime() - Date.parse('2026-01-01T00:00:00.000Z')) / 1000;
  }

  /** History event types of one execution, in order. */
  historyOf(executionArn: string): readonly string[] {
    return this.history.filter((event) => event.executionArn === executionArn).map(({ type }) => type);
  }

  async #invoke(functionName: string, payloadJson: string, signal: AbortSignal): Promise<string> {
    const payload = JSON.parse(payloadJson) as Readonly<Record<string, unknown>>;
    this.invocations.push({ functionName, payload });
    const behaviour = this.behaviours[functionName];
    if (behaviour === undefined) throw named('ResourceNotFoundException', `no function ${functionName}`);
    const answer = await behaviour(payload, signal);
    return JSON.stringify(answer ?? null);
  }

  #makeBehaviours(): Record<string, Behaviour> {
    return {
      echo: async (payload) => payload,
      fail: async ({ name, message }) => {
        throw named(String(name), typeof message === 'string' ? message : 'failed');
      },
      /** Fails with each of `errors` in turn, over all calls, then answers. */
      flaky: async ({ errors }) => {
        const name = (errors as string[])[this.#flaky++];
        if (name !== undefined) throw named(name, 'failed');
        return 'recovered';
      },
      slow: async ({ seconds }, signal) => {
        await this.clock.sleep(Number(seconds) * 1000, signal);
        return 'done';
      },
      large: async ({ length }) => 'x'.repeat(Number(length)),
      keep: async ({ token }) => void this.tokens.push(String(token)),
      succeed: async ({ token, output, afterSeconds }) => {
        this.#later(afterSeconds, () =>
          this.interpreter.sendTaskSuccess(String(token), JSON.stringify(output ?? null)),
        );
      },
      report: async ({ token, error, cause, afterSeconds }) => {
        this.#later(afterSeconds, () => this.interpreter.sendTaskFailure(String(token), String(error), String(cause)));
      },
      /** Beats so many times, then succeeds at the next beat. */
      beat: async ({ token, everySeconds, times }) => {
        for (let beat = 1; beat <= Number(times); beat += 1) {
          this.#later(Number(everySeconds) * beat, () => this.interpreter.sendTaskHeartbeat(String(token)));
        }
        this.#later(Number(everySeconds) * (Number(times) + 1), () =>
          this.interpreter.sendTaskSuccess(String(token), '"beaten"'),
        );
      },
    };
  }

  #later(seconds: unknown, call: () => void): void {
    const attempt = (): void => {
      try {
        call();
      } catch (error) {
        this.tokenErrors.push(error instanceof Error ? error.name : String(error));
      }
    };
    if (seconds === undefined) attempt();
    else this.clock.setTimer(Number(seconds) * 1000, attempt);
  }
}

export function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

/** A JSONata machine that begins at its first state. */
export function machine(
  states: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, unknown>> = {},
): object {
  return { QueryLanguage: 'JSONata', StartAt: Object.keys(states)[0], States: states, ...fields };
}

/** A task that calls a function; ends the machine unless told otherwise. */
export function task(functionName: string, payload: unknown, fields: Readonly<Record<string, unknown>> = {}): object {
  return {
    Type: 'Task',
    Resource: 'arn:aws:states:::lambda:invoke',
    Arguments: { FunctionName: functionName, Payload: payload },
    ...('Next' in fields ? {} : { End: true }),
    ...fields,
  };
}

/** A task that hands its token to a function and waits for it. */
export function callback(
  functionName: string,
  payload: Readonly<Record<string, unknown>> = {},
  fields: Readonly<Record<string, unknown>> = {},
): object {
  return {
    ...task(functionName, { token: '{% $states.context.Task.Token %}', ...payload }, fields),
    Resource: 'arn:aws:states:::lambda:invoke.waitForTaskToken',
  };
}

/** A Pass that ends the machine with an output. */
export function pass(output: unknown, fields: Readonly<Record<string, unknown>> = {}): object {
  return { Type: 'Pass', Output: output, ...('Next' in fields ? {} : { End: true }), ...fields };
}

/** A Map's processor: inline, or distributed. */
export function processor(states: Readonly<Record<string, unknown>>, mode?: 'DISTRIBUTED'): object {
  return {
    ...(mode === undefined ? {} : { ProcessorConfig: { Mode: mode, ExecutionType: 'STANDARD' } }),
    StartAt: Object.keys(states)[0],
    States: states,
  };
}
