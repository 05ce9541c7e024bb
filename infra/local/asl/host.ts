import type { HostClock } from '#local/clock';

/** What the interpreter needs of the world around it. */
export interface AslHost {
  readonly clock: HostClock;
  /**
   * Runs a function with a JSON text and answers one. A rejection's `name` becomes the ASL error.
   * The signal is aborted when nobody waits for the answer any more.
   */
  invoke(functionName: string, payloadJson: string, signal: AbortSignal): Promise<string>;
  readObject(bucket: string, key: string): Promise<string>;
  writeObject(bucket: string, key: string, body: string): Promise<void>;
  newToken(): string;
  newId(): string;
  /** Told of every change of an execution's status, children of distributed maps included. Must not throw. */
  onExecutionEvent?(event: ExecutionEvent): void;
  /** Told of every history event as it is counted. Must not throw. */
  onHistoryEvent?(event: HistoryEvent): void;
}

export type ExecutionStatus = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';

/** `input` and `output` are JSON texts, as in the service's own events. */
export interface ExecutionEvent {
  readonly type: ExecutionStatus;
  readonly executionArn: string;
  readonly stateMachineName: string;
  readonly name: string;
  readonly input: string;
  readonly output?: string;
  readonly error?: string;
  readonly cause?: string;
}

export interface HistoryEvent {
  readonly executionArn: string;
  /** Position in the history, from 1. */
  readonly id: number;
  readonly type: string;
  readonly state?: string;
}
