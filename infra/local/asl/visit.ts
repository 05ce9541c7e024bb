import type { CancelScope } from './cancel.ts';
import { AslError, QUERY_EVALUATION_ERROR } from './errors.ts';
import type { Engine, Execution } from './execution.ts';
import type { Frame } from './expression.ts';
import { MAX_SECONDS } from './limits.ts';
import { type Json, type Payload } from './payload.ts';
import { RetryCounter } from './retry.ts';
import { fillTemplate, type Template, wrongValueError } from './template.ts';
import type { VariableScope } from './variables.ts';

/** One line of states being walked: an execution, an iteration of an inline map, or a branch. */
export interface Run {
  readonly engine: Engine;
  readonly execution: Execution;
  readonly scope: VariableScope;
  readonly cancel: CancelScope;
  /** The item of the inline map the run is an iteration of. */
  readonly mapItem?: MapItem;
}

export interface MapItem {
  readonly index: number;
  readonly value: Payload;
}

/** One visit to a state: what its expressions see, over all of its attempts. */
export class Visit implements Frame {
  readonly run: Run;
  readonly stateName: string;
  readonly input: Payload;
  readonly retries = new RetryCounter();
  readonly enteredMilliseconds: number;
  readonly enteredEventId: number;
  /** Set while the fields that may read them are evaluated. */
  result: Payload | undefined;
  errorOutput: Json | undefined;
  taskToken: string | undefined;

  /** To be created right after the event that says the state was entered. */
  constructor(run: Run, stateName: string, input: Payload) {
    this.run = run;
    this.stateName = stateName;
    this.input = input;
    this.enteredMilliseconds = this.nowMilliseconds();
    this.enteredEventId = run.execution.historyEventCount;
  }

  nowMilliseconds(): number {
    return this.run.engine.host.clock.now().getTime();
  }

  lookup(name: string): unknown {
    return this.run.scope.lookup(name);
  }

  lookupStates(field: string): unknown {
    return statesField(this, this.run.mapItem, field);
  }

  /** @throws AslError States.QueryEvaluationError, after counting its event. */
  fill(template: Template, frame: Frame = this): Json | Promise<Json> {
    try {
      const filled = fillTemplate(template, frame, this.run.engine.bounds);
      return filled instanceof Promise ? filled.catch((error: unknown) => this.#rethrow(error)) : filled;
    } catch (error) {
      return this.#rethrow(error);
    }
  }

  /** The same state seen from one item of the map it is, for its ItemSelector. */
  frameOfItem(item: MapItem): Frame {
    return {
      lookup: (name) => this.run.scope.lookup(name),
      lookupStates: (field) => statesField(this, item, field),
      nowMilliseconds: () => this.nowMilliseconds(),
    };
  }

  async fillString(template: Template, location: string): Promise<string> {
    const value = await this.fill(template);
    if (typeof value === 'string') return value;
    throw this.evaluationFailed(wrongValueError(template, location, 'string', value));
  }

  async fillBoolean(template: Template, location: string): Promise<boolean> {
    const value = await this.fill(template);
    if (typeof value === 'boolean') return value;
    throw this.evaluationFailed(wrongValueError(template, location, 'boolean', value));
  }

  /** An integer within bounds. */
  async fillInteger(template: Template, location: string, min: number, max = MAX_SECONDS): Promise<number> {
    const value = await this.fill(template);
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    throw this.evaluationFailed(wrongValueError(template, location, `integer from ${min} to ${max}`, value));
  }

  #rethrow(error: unknown): never {
    throw error instanceof AslError ? this.evaluationFailed(error) : error;
  }

  /** Counts the failed evaluation and says where it happened. */
  evaluationFailed(error: AslError): AslError {
    this.run.execution.record('EvaluationFailed', this.stateName);
    return new AslError(QUERY_EVALUATION_ERROR, `${this.place} ${error.causeText ?? ''}`);
  }

  /** How the service begins the cause of an error it raises itself. */
  get place(): string {
    return `An error occurred while executing the state '${this.stateName}' (entered at the event id #${this.enteredEventId}).`;
  }
}

function statesField(visit: Visit, item: MapItem | undefined, field: string): unknown {
  switch (field) {
    case 'input':
      return visit.input.value;
    case 'result':
      return visit.result?.value;
    case 'errorOutput':
      return visit.errorOutput;
    case 'context':
      return contextOf(visit, item);
    default:
      return undefined;
  }
}

/** The Context object of a state; what is the same in all states of an execution is made once. */
function contextOf(visit: Visit, item: MapItem | undefined): object {
  const { execution } = visit.run;
  const shared = sharedContexts.get(execution) ?? sharedContextOf(execution);
  return {
    ...shared,
    State: {
      Name: visit.stateName,
      EnteredTime: isoTime(visit.enteredMilliseconds),
      RetryCount: visit.retries.total,
    },
    ...(visit.taskToken === undefined ? {} : { Task: { Token: visit.taskToken } }),
    ...(item === undefined ? {} : { Map: { Item: { Index: item.index, Value: item.value.value } } }),
  };
}

const sharedContexts = new WeakMap<Execution, object>();

function sharedContextOf(execution: Execution): object {
  const shared = {
    Execution: {
      Id: execution.arn,
      get Input() {
        return execution.input.value;
      },
      Name: execution.name,
      StartTime: isoTime(execution.startMilliseconds),
    },
    StateMachine: { Id: stateMachineArn(execution.stateMachineName), Name: execution.stateMachineName },
  };
  sharedContexts.set(execution, shared);
  return shared;
}

export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** ARNs of the embedded host: no region, and the account that is nobody's. */
export function stateMachineArn(stateMachineName: string): string {
  return `arn:aws:states:local:000000000000:stateMachine:${stateMachineName}`;
}

export function executionArn(stateMachineName: string, name: string): string {
  return `arn:aws:states:local:000000000000:execution:${stateMachineName}:${name}`;
}
