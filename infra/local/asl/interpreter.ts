import type { Machine } from './definition.ts';
import { ServiceError } from './errors.ts';
import { type Engine, Execution, type ExecutionResult } from './execution.ts';
import { DEFAULT_BOUNDS, type EvaluationBounds } from './expression.ts';
import type { AslHost, ExecutionStatus } from './host.ts';
import { runToEnd } from './lifecycle.ts';
import { isTooLarge, MAX_NAME_LENGTH, MAX_PAYLOAD_BYTES } from './limits.ts';
import { loadMachine } from './load.ts';
import { type Json, Payload } from './payload.ts';
import { runBlock } from './states.ts';
import { TokenRegistry } from './tokens.ts';
import { executionArn, isoTime, stateMachineArn } from './visit.ts';

export interface InterpreterOptions {
  /** Draws the jitter of retries, in [0, 1). */
  readonly random?: () => number;
  readonly bounds?: Partial<EvaluationBounds>;
  /** How many ended executions can still be described; their names stay taken in any case. */
  readonly closedExecutionsKept?: number;
}

export interface ExecutionHandle {
  readonly executionArn: string;
  readonly name: string;
  readonly status: ExecutionStatus;
  readonly historyEventCount: number;
  /** Settles when the execution has ended; never rejects. */
  readonly done: Promise<ExecutionResult>;
}

export interface ExecutionDescription {
  readonly executionArn: string;
  readonly stateMachineArn: string;
  readonly stateMachineName: string;
  readonly name: string;
  readonly status: ExecutionStatus;
  readonly startDate: string;
  readonly stopDate?: string;
  readonly input: string;
  readonly output?: string;
  readonly error?: string;
  readonly cause?: string;
  readonly historyEventCount: number;
}

const DEFAULT_CLOSED_KEPT = 1_000;

/** What the service refuses in names of machines and executions. */
const FORBIDDEN_IN_NAMES = /[\s<>{}[\]?*"#%\\^|~`$&,;:/\p{Cc}]/u;

/** Runs JSONata state machines in this process as Step Functions Standard would. */
export class Interpreter {
  readonly #engine: Engine;
  readonly #machines = new Map<string, Machine>();
  readonly #running = new Map<string, Execution>();
  /** The newest ended executions that were started here, oldest first. */
  readonly #closed = new Map<string, ExecutionDescription>();
  readonly #names = new Set<string>();
  readonly #closedKept: number;

  constructor(host: AslHost, options: InterpreterOptions = {}) {
    this.#closedKept = options.closedExecutionsKept ?? DEFAULT_CLOSED_KEPT;
    this.#engine = {
      host,
      tokens: new TokenRegistry(host.newId(), () => host.newToken()),
      random: options.random ?? Math.random,
      bounds: { ...DEFAULT_BOUNDS, ...options.bounds },
      begin: (execution) => this.#begin(execution),
    };
  }

  /** Executions that have not ended, children of distributed maps included. */
  get runningExecutions(): number {
    return this.#running.size;
  }

  /** Tasks that wait for a token now. */
  get waitingTokens(): number {
    return this.#engine.tokens.waiting;
  }

  /**
   * Loads a definition, given as JSON text or its value. Running executions keep the one they started with.
   * @throws ServiceError InvalidName, InvalidDefinition.
   */
  register(name: string, definition: unknown): void {
    assertName(name);
    this.#machines.set(name, loadMachine(name, definition));
  }

  /**
   * Starts an execution. The same name with the same input is the same execution while it runs.
   * @throws ServiceError StateMachineDoesNotExist, InvalidName, InvalidExecutionInput, ExecutionAlreadyExists.
   */
  start(machineName: string, { name, input }: { readonly name: string; readonly input: unknown }): ExecutionHandle {
    const machine = this.#machines.get(machineName);
    if (machine === undefined) {
      const known = [...this.#machines.keys()].join(', ') || 'none';
      throw new ServiceError(
        'StateMachineDoesNotExist',
        `There is no state machine '${machineName}'; registered: ${known}.`,
      );
    }
    assertName(name);
    const payload = Payload.of((input ?? {}) as Json);
    if (isTooLarge(payload.text)) {
      throw new ServiceError('InvalidExecutionInput', `The input has more than ${MAX_PAYLOAD_BYTES} bytes.`);
    }
    const arn = executionArn(machineName, name);
    const running = this.#running.get(arn);
    if (running?.input.text === payload.text) return handleOf(running);
    if (this.#names.has(arn)) {
      throw new ServiceError(
        'ExecutionAlreadyExists',
        `The execution '${name}' of '${machineName}' ${running === undefined ? 'has ended' : 'runs with another input'}; take another name.`,
      );
    }
    return handleOf(this.#launch(machine, { arn, name, stateMachineName: machineName, input: payload }));
  }

  /** @throws ServiceError ExecutionDoesNotExist. */
  describe(arn: string): ExecutionDescription {
    const running = this.#running.get(arn);
    const description = running === undefined ? this.#closed.get(arn) : describeExecution(running);
    if (description !== undefined) return description;
    throw new ServiceError('ExecutionDoesNotExist', `There is no execution '${arn}', or it ended long ago.`);
  }

  /** Aborts an execution at once; no Catch of it runs. Stopping one that has ended changes nothing. */
  stop(arn: string, error?: string, cause?: string): void {
    const running = this.#running.get(arn);
    if (running === undefined) {
      this.describe(arn);
      return;
    }
    running.finish({
      status: 'ABORTED',
      ...(error === undefined ? {} : { error }),
      ...(cause === undefined ? {} : { cause }),
    });
  }

  /** @throws ServiceError InvalidOutput, InvalidToken, TaskTimedOut, TaskDoesNotExist. */
  sendTaskSuccess(token: string, outputJson: string): void {
    this.#engine.tokens.succeed(token, outputJson);
  }

  /** @throws ServiceError InvalidToken, TaskTimedOut, TaskDoesNotExist. */
  sendTaskFailure(token: string, error: string, cause: string): void {
    this.#engine.tokens.fail(token, error, cause);
  }

  /** Restarts the heartbeat's clock only. @throws ServiceError InvalidToken, TaskTimedOut, TaskDoesNotExist. */
  sendTaskHeartbeat(token: string): void {
    this.#engine.tokens.heartbeat(token);
  }

  #launch(machine: Machine, identity: ConstructorParameters<typeof Execution>[1]): Execution {
    const { host } = this.#engine;
    const execution = new Execution(host, identity);
    this.#names.add(execution.arn);
    this.#begin(execution);
    execution.cancel.onCancel(() => this.#remember(describeExecution(execution)));
    if (machine.timeoutSeconds !== undefined) {
      const timeOut = (): void => execution.finish({ status: 'TIMED_OUT' });
      execution.cancel.onCancel(host.clock.setTimer(machine.timeoutSeconds * 1000, timeOut));
    }
    void runToEnd(execution, machine.block, this.#engine, runBlock);
    return execution;
  }

  #begin(execution: Execution): void {
    this.#running.set(execution.arn, execution);
    execution.cancel.onCancel(() => this.#running.delete(execution.arn));
    this.#engine.host.onExecutionEvent?.(execution.event({ status: 'RUNNING' }));
  }

  #remember(description: ExecutionDescription): void {
    this.#closed.set(description.executionArn, description);
    const oldest = this.#closed.keys().next();
    if (this.#closed.size > this.#closedKept && oldest.done !== true) this.#closed.delete(oldest.value);
  }
}

function handleOf(execution: Execution): ExecutionHandle {
  return {
    executionArn: execution.arn,
    name: execution.name,
    done: execution.done,
    get status() {
      return execution.status;
    },
    get historyEventCount() {
      return execution.historyEventCount;
    },
  };
}

function describeExecution(execution: Execution): ExecutionDescription {
  const { output, error, cause } = execution.result ?? {};
  return {
    executionArn: execution.arn,
    stateMachineArn: stateMachineArn(execution.stateMachineName),
    stateMachineName: execution.stateMachineName,
    name: execution.name,
    status: execution.status,
    startDate: isoTime(execution.startMilliseconds),
    input: execution.input.text,
    historyEventCount: execution.historyEventCount,
    ...(execution.stopMilliseconds === undefined ? {} : { stopDate: isoTime(execution.stopMilliseconds) }),
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error }),
    ...(cause === undefined ? {} : { cause }),
  };
}

function assertName(name: string): void {
  if (name !== '' && name.length <= MAX_NAME_LENGTH && !FORBIDDEN_IN_NAMES.test(name)) return;
  throw new ServiceError(
    'InvalidName',
    `'${name}' is no name: 1 to ${MAX_NAME_LENGTH} characters without whitespace, brackets, wildcards and any of "#%\\^|~\`$&,;:/.`,
  );
}
