import type { Template } from './template.ts';

/** A state machine that passed the loader. */
export interface Machine {
  readonly name: string;
  readonly block: StatesBlock;
  readonly timeoutSeconds: number | undefined;
}

/** States that share one set of variables: a machine, a Map's processor or a branch. */
export interface StatesBlock {
  readonly startAt: string;
  readonly states: ReadonlyMap<string, State>;
}

export type State =
  TaskState | PassState | ChoiceState | WaitState | SucceedState | FailState | MapState | ParallelState;

/** Values to assign, in the definition's order. */
export type Assignments = readonly (readonly [string, Template])[];

interface Named {
  readonly name: string;
}

/** What follows a state; `next` is undefined where the block ends. */
interface Step extends Named {
  readonly output: Template | undefined;
  readonly assign: Assignments | undefined;
  readonly next: string | undefined;
}

/** States that may fail and be retried. */
interface Fallible extends Step {
  readonly retriers: readonly Retrier[];
  readonly catchers: readonly Catcher[];
}

export interface TaskState extends Fallible {
  readonly type: 'Task';
  readonly functionName: Template;
  readonly payload: Template | undefined;
  readonly waitsForToken: boolean;
  readonly timeoutSeconds: Template | undefined;
  readonly heartbeatSeconds: Template | undefined;
}

export interface PassState extends Step {
  readonly type: 'Pass';
}

export interface ChoiceState extends Named {
  readonly type: 'Choice';
  readonly choices: readonly Choice[];
  readonly defaultNext: string | undefined;
  readonly output: Template | undefined;
  readonly assign: Assignments | undefined;
}

export interface Choice {
  readonly condition: Template;
  readonly location: string;
  readonly output: Template | undefined;
  readonly assign: Assignments | undefined;
  readonly next: string;
}

export interface WaitState extends Step {
  readonly type: 'Wait';
  readonly seconds: Template | undefined;
  readonly timestamp: Template | undefined;
}

export interface SucceedState extends Named {
  readonly type: 'Succeed';
  readonly output: Template | undefined;
}

export interface FailState extends Named {
  readonly type: 'Fail';
  readonly error: Template | undefined;
  readonly cause: Template | undefined;
}

export interface MapState extends Fallible {
  readonly type: 'Map';
  readonly processor: StatesBlock;
  readonly isDistributed: boolean;
  /** Names the children of a distributed map: the `Label`, or the state's name. */
  readonly label: string;
  readonly items: Template | undefined;
  readonly itemReader: ItemReader | undefined;
  readonly itemSelector: Template | undefined;
  readonly maxConcurrency: Template | undefined;
  readonly toleratedFailurePercentage: Template | undefined;
  readonly toleratedFailureCount: Template | undefined;
  readonly resultWriter: ResultWriter | undefined;
}

export interface ItemReader {
  readonly bucket: Template;
  readonly key: Template;
  readonly inputType: 'JSON' | 'JSONL';
  readonly maxItems: Template | undefined;
}

export interface ResultWriter {
  readonly bucket: Template;
  readonly prefix: Template | undefined;
}

export interface ParallelState extends Fallible {
  readonly type: 'Parallel';
  readonly branches: readonly StatesBlock[];
  readonly arguments: Template | undefined;
}

export interface Retrier {
  readonly errorEquals: readonly string[];
  readonly intervalSeconds: number;
  readonly maxAttempts: number;
  readonly backoffRate: number;
  readonly maxDelaySeconds: number | undefined;
  readonly jitterStrategy: 'FULL' | 'NONE';
}

export interface Catcher {
  readonly errorEquals: readonly string[];
  readonly next: string;
  readonly output: Template | undefined;
  readonly assign: Assignments | undefined;
  /** The catcher's place in its state, for messages: `Catch[1]`. */
  readonly location: string;
}
