/** Time as the pipeline sees it; never read the machine's clock anywhere else. */
export interface Clock {
  now(): Date;
  /** Rejects with the signal's reason when it is aborted first. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}
