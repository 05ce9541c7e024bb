import { CancelScope } from './cancel.ts';
import { AslError, RUNTIME } from './errors.ts';
import type { EvaluationBounds } from './expression.ts';
import type { AslHost, ExecutionEvent, ExecutionStatus } from './host.ts';
import { MAX_HISTORY_EVENTS } from './limits.ts';
import { type Payload } from './payload.ts';
import type { TokenRegistry } from './tokens.ts';
import type { VariableLedger } from './variables.ts';

/** What all executions of one interpreter share. */
export interface Engine {
  readonly host: AslHost;
  readonly tokens: TokenRegistry;
  readonly random: () => number;
  readonly bounds: EvaluationBounds;
  /** Registers an execution until it ends, and tells the host. */
  begin(execution: Execution): void;
}

/** How an execution ended. */
export interface ExecutionResult {
  readonly status: Exclude<ExecutionStatus, 'RUNNING'>;
  readonly output?: string;
  readonly error?: string;
  readonly cause?: string;
}

interface Identity {
  readonly arn: string;
  readonly name: string;
  /** `<machine>`, or `<machine>/<label>` for a child of a distributed map. */
  readonly stateMachineName: string;
  readonly input: Payload;
}

/** One execution: its identity, its event count and its end. History itself is not kept. */
export class Execution {
  readonly arn: string;
  readonly name: string;
  readonly stateMachineName: string;
  readonly input: Payload;
  readonly startMilliseconds: number;
  readonly variables: VariableLedger = { bytes: 0 };
  readonly cancel: CancelScope;
  /** Settles when the execution has ended; never rejects. */
  readonly done: Promise<ExecutionResult>;
  readonly #host: AslHost;
  #resolve: (result: ExecutionResult) => void = () => undefined;
  #events = 0;
  #result: ExecutionResult | undefined;
  #stopMilliseconds: number | undefined;

  constructor(host: AslHost, { arn, name, stateMachineName, input }: Identity, parent?: CancelScope) {
    this.arn = arn;
    this.name = name;
    this.stateMachineName = stateMachineName;
    this.input = input;
    this.#host = host;
    this.startMilliseconds = host.clock.now().getTime();
    this.cancel = new CancelScope(parent);
    this.done = new Promise((resolve) => (this.#resolve = resolve));
  }

  get historyEventCount(): number {
    return this.#events;
  }

  get result(): ExecutionResult | undefined {
    return this.#result;
  }

  get status(): ExecutionStatus {
    return this.#result?.status ?? 'RUNNING';
  }

  get stopMilliseconds(): number | undefined {
    return this.#stopMilliseconds;
  }

  /**
   * Counts one history event.
   * @throws AslError States.Runtime when only the place for the event that ends the execution is left.
   */
  record(type: string, state?: string): void {
    if (this.#result !== undefined) return;
    if (this.#events >= MAX_HISTORY_EVENTS - 1) {
      throw new AslError(
        RUNTIME,
        `The execution reached the maximum number of history events (${MAX_HISTORY_EVENTS}).`,
      );
    }
    this.#count(type, state);
  }

  /** Counts an event of a branch that was stopped; a full history is no news to it. */
  recordAborted(type: string, state: string): void {
    if (this.#result === undefined && this.#events < MAX_HISTORY_EVENTS - 1) this.#count(type, state);
  }

  /** Ends the execution, once; whatever still runs in it is cancelled and no Catch sees that. */
  finish(result: ExecutionResult): void {
    if (this.#result !== undefined) return;
    this.#count(END_EVENTS[result.status]);
    this.#result = result;
    this.#stopMilliseconds = this.#host.clock.now().getTime();
    this.cancel.cancel();
    this.#host.onExecutionEvent?.(this.event(result));
    this.#resolve(result);
  }

  event({ status, ...details }: ExecutionResult | { readonly status: 'RUNNING' }): ExecutionEvent {
    const { arn, name, stateMachineName } = this;
    return { type: status, executionArn: arn, stateMachineName, name, input: this.input.text, ...details };
  }

  #count(type: string, state?: string): void {
    this.#events += 1;
    this.#host.onHistoryEvent?.({
      executionArn: this.arn,
      id: this.#events,
      type,
      ...(state === undefined ? {} : { state }),
    });
  }
}

const END_EVENTS: Readonly<Record<ExecutionResult['status'], string>> = {
  SUCCEEDED: 'ExecutionSucceeded',
  FAILED: 'ExecutionFailed',
  TIMED_OUT: 'ExecutionTimedOut',
  ABORTED: 'ExecutionAborted',
};
