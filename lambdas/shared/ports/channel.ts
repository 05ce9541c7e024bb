import type { ExecJob, FirstLine, GuestJob, JobStatus, RpcCall, RpcResult, StopReport } from '#contracts/guest';
import type { Sandbox } from '#ports/sandbox-provider';

/**
 * A job without what the sandbox itself decides. Commands of the agent run in the sandbox's network where it has one of its
 * own; one of the runner does so with `network: 'sandbox'`. Transfers use the host's, where the store is.
 */
export type ChannelJob = GuestJob extends infer J
  ? J extends GuestJob
    ? Omit<J, 'version' | 'account' | 'isolation'> & { readonly as: 'agent' | 'runner' } & (J extends ExecJob
          ? { readonly network?: 'sandbox' }
          : unknown)
    : never
  : never;

/** What a guest still lacks before an agent can work in it; `failed` says that it never will. */
export type GuestReadiness =
  /** `sealingKey` as `Sandbox` has it; null where nothing is sealed. */
  | { readonly state: 'ready'; readonly sealingKey: string | null }
  | { readonly state: 'waiting'; readonly waitsFor: 'agent-online' | 'runner' | 'session' | 'screen' }
  | { readonly state: 'failed'; readonly reason: string };

/**
 * Drives one sandbox. `start` returns once the job is detached; `wait` arms an event
 * (`guest.job-finished` with the job id) for when it ends; both are safe to repeat.
 * @throws ChannelUnavailableError when the guest does not answer.
 */
export interface Channel {
  /** False where nothing tells of a job's end and our watcher has to look; absent where `wait` arms an event. */
  readonly tellsEnds?: false;
  start(sandbox: Sandbox, job: ChannelJob): Promise<void>;
  wait(sandbox: Sandbox, jobId: string): Promise<void>;
  status(sandbox: Sandbox, jobId: string): Promise<JobStatus>;
  /**
   * The first line a running job prints on standard output. Comes back without one when the job ends, or the time is over
   * (at most 9 minutes), whichever is first.
   */
  firstLine(sandbox: Sandbox, jobId: string, timeoutSeconds: number): Promise<FirstLine>;
  /** Kills every process of the agent's account and namespace, and says whether none was left. */
  stop(sandbox: Sandbox, jobId: string): Promise<StopReport>;
  /** Runs a batch as the agent's account, in order; a failed call does not stop the batch. Under 10 minutes in all. */
  call(sandbox: Sandbox, calls: readonly RpcCall[], timeoutSeconds: number): Promise<readonly RpcResult[]>;
  /** Asked once the provider calls the machine ready; absent where that is all there is to know. */
  readonly readiness?: (sandbox: Sandbox) => Promise<GuestReadiness>;
  /** Path of the folder where a job's stdout and stderr lie, for a collect root read as the runner. */
  jobFolder(sandbox: Sandbox, jobId: string): string;
}
