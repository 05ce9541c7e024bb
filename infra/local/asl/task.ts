import { waitUnlessCancelled } from './cancel.ts';
import type { TaskState } from './definition.ts';
import { AslError, CancelledError, HEARTBEAT_TIMEOUT, RUNTIME, TASK_FAILED, TIMEOUT, toAslError } from './errors.ts';
import { assertPayloadFits, MAX_CAUSE_LENGTH, MAX_ERROR_LENGTH } from './limits.ts';
import { type Json, Payload } from './payload.ts';
import type { Visit } from './visit.ts';

/** One attempt of a task, ready to be sent. */
interface Call {
  readonly functionName: string;
  readonly payload: Payload;
  readonly token: string | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly heartbeatSeconds: number | undefined;
}

/**
 * Runs one attempt of a task and gives its result.
 * @throws AslError what the function, the token or a clock reported.
 */
export async function runTask(state: TaskState, visit: Visit): Promise<Payload> {
  const call = await prepare(state, visit);
  const { execution } = visit.run;
  execution.record('TaskScheduled', state.name);
  execution.record('TaskStarted', state.name);
  try {
    const result = call.token === undefined ? await invoke(call, visit) : await awaitToken(call, call.token, visit);
    assertPayloadFits(result.text, 'lambda');
    execution.record('TaskSucceeded', state.name);
    return result;
  } catch (error) {
    if (!(error instanceof CancelledError)) {
      execution.record(toAslError(error).name === TIMEOUT ? 'TaskTimedOut' : 'TaskFailed', state.name);
    }
    throw error;
  }
}

/** Every attempt evaluates its fields anew, and a callback gets a new token each time. */
async function prepare(state: TaskState, visit: Visit): Promise<Call> {
  const token = state.waitsForToken ? visit.run.engine.tokens.issue() : undefined;
  visit.taskToken = token;
  const functionName = await visit.fillString(state.functionName, 'Arguments/FunctionName');
  const payload = state.payload === undefined ? new Payload('{}') : Payload.of(await visit.fill(state.payload));
  assertPayloadFits(payload.text, state.name);
  const { timeoutSeconds, heartbeatSeconds } = state;
  return {
    functionName,
    payload,
    token,
    timeoutSeconds:
      timeoutSeconds === undefined ? undefined : await visit.fillInteger(timeoutSeconds, 'TimeoutSeconds', 1),
    heartbeatSeconds:
      heartbeatSeconds === undefined ? undefined : await visit.fillInteger(heartbeatSeconds, 'HeartbeatSeconds', 1),
  };
}

function invoke(call: Call, visit: Visit): Promise<Payload> {
  return waitUnlessCancelled<Payload>(visit.run.cancel, (resolve, reject) => {
    const abort = new AbortController();
    const stopClock = startClock(visit, call.timeoutSeconds, () => {
      abort.abort();
      reject(new AslError(TIMEOUT));
    });
    void send(call, visit, abort.signal).then(
      (payload) => {
        stopClock();
        resolve(payload);
      },
      (error: unknown) => {
        stopClock();
        reject(toAslError(error));
      },
    );
    return () => {
      stopClock();
      abort.abort();
    };
  });
}

function awaitToken(call: Call, token: string, visit: Visit): Promise<Payload> {
  return waitUnlessCancelled<Payload>(visit.run.cancel, (resolve, reject) => {
    const wait = new TokenWait(call, token, visit, (error, payload) => {
      if (payload === undefined) reject(error ?? new AslError(TASK_FAILED));
      else resolve(payload);
    });
    wait.start();
    return () => wait.stop();
  });
}

/** The wait for one token: the function is called, then the token, a clock or the function's failure ends it. */
class TokenWait {
  readonly #call: Call;
  readonly #token: string;
  readonly #visit: Visit;
  readonly #settle: (error: AslError | undefined, payload?: Payload) => void;
  readonly #abort = new AbortController();
  #close: () => void = () => undefined;
  #stopTimeout: () => void = () => undefined;
  #stopHeartbeat: () => void = () => undefined;
  #isSubmitted = false;
  #isOpen = true;

  constructor(
    call: Call,
    token: string,
    visit: Visit,
    settle: (error: AslError | undefined, payload?: Payload) => void,
  ) {
    this.#call = call;
    this.#token = token;
    this.#visit = visit;
    this.#settle = settle;
  }

  start(): void {
    this.#close = this.#visit.run.engine.tokens.open(this.#token, {
      succeed: (output) => this.#answer(undefined, output),
      fail: (error, cause) => this.#answer(reported(error, cause)),
      heartbeat: () => this.#restartHeartbeat(),
    });
    this.#stopTimeout = startClock(this.#visit, this.#call.timeoutSeconds, () => this.#expire([]));
    this.#restartHeartbeat();
    void send(this.#call, this.#visit, this.#abort.signal).then(
      () => {
        if (this.#isOpen) this.#submit();
      },
      (error: unknown) => this.#end(toAslError(error)),
    );
  }

  /** Gives up: nothing is reported any more, and whoever uses the token is told that it is closed. */
  stop(): void {
    this.#release();
    this.#abort.abort();
  }

  #expire(aliases: readonly string[]): void {
    this.#abort.abort();
    this.#end(new AslError(TIMEOUT, undefined, aliases));
  }

  #restartHeartbeat(): void {
    this.#stopHeartbeat();
    this.#stopHeartbeat = startClock(this.#visit, this.#call.heartbeatSeconds, () => this.#expire([HEARTBEAT_TIMEOUT]));
  }

  /** The token was used, which takes the function to have passed it on even if it has not returned yet. */
  #answer(error: AslError | undefined, payload?: Payload): void {
    this.#submit();
    this.#end(error, payload);
  }

  #end(error: AslError | undefined, payload?: Payload): void {
    if (!this.#isOpen) return;
    this.#release();
    this.#settle(error, payload);
  }

  #release(): void {
    this.#isOpen = false;
    this.#close();
    this.#stopTimeout();
    this.#stopHeartbeat();
  }

  /** Counts that the task was handed over. */
  #submit(): void {
    if (this.#isSubmitted) return;
    this.#isSubmitted = true;
    try {
      this.#visit.run.execution.record('TaskSubmitted', this.#visit.stateName);
    } catch (error) {
      this.#release();
      this.#settle(toAslError(error));
    }
  }
}

function startClock(visit: Visit, seconds: number | undefined, onExpiry: () => void): () => void {
  if (seconds === undefined) return () => undefined;
  return visit.run.engine.host.clock.setTimer(seconds * 1000, onExpiry);
}

async function send(call: Call, visit: Visit, signal: AbortSignal): Promise<Payload> {
  const { host } = visit.run.engine;
  let answer: string;
  try {
    answer = await host.clock.track(host.invoke(call.functionName, call.payload.text, signal), signal);
  } catch (error) {
    throw functionError(error);
  }
  let value: Json;
  try {
    value = JSON.parse(answer) as Json;
  } catch {
    throw new AslError(RUNTIME, `The function '${call.functionName}' answered with something that is not JSON.`);
  }
  return new Payload(`{"ExecutedVersion":"$LATEST","Payload":${answer},"StatusCode":200}`, {
    ExecutedVersion: '$LATEST',
    Payload: value,
    StatusCode: 200,
  });
}

/** What the service makes of a function's error: its type as the error, and type, message and trace as JSON text. */
function functionError(thrown: unknown): AslError {
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown));
  const error = name.slice(0, MAX_ERROR_LENGTH);
  if (name.startsWith('Lambda.')) return new AslError(error, message.slice(0, MAX_CAUSE_LENGTH));
  const trace = (stack ?? '').split('\n').map((line) => line.trim());
  let errorMessage = message;
  for (;;) {
    const cause = JSON.stringify({ errorType: name, errorMessage, trace });
    if (cause.length <= MAX_CAUSE_LENGTH) return new AslError(error, cause);
    if (trace.pop() === undefined) errorMessage = errorMessage.slice(0, errorMessage.length / 2);
  }
}

/** SendTaskFailure may leave its error out. */
function reported(error: string, cause: string): AslError {
  const name = error === '' ? TASK_FAILED : error.slice(0, MAX_ERROR_LENGTH);
  return new AslError(name, cause.slice(0, MAX_CAUSE_LENGTH));
}
