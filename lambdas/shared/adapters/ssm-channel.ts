import type { SSMClient } from '@aws-sdk/client-ssm';
import {
  GUEST_COMMANDS,
  GUEST_CONTRACT_VERSION,
  type FirstLine,
  type GuestJob,
  type JobStatus,
  type RpcCall,
  type RpcResult,
  type StopReport,
} from '#contracts/guest';
import { GUEST_LAYOUT } from '#core/guest-documents';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { ArtifactStore } from '#ports/artifact-store';
import type { Channel, ChannelJob, GuestReadiness } from '#ports/channel';
import type { Clock } from '#ports/clock';
import type { GuestCalls } from '#ports/guest-calls';
import type { Sandbox } from '#ports/sandbox-provider';
import { callServer } from './cua-channel-calls.ts';
import { createPassedOnClient } from './cua-passed-on.ts';
import {
  firstLineSchema,
  jobStatusSchema,
  NothingSchema,
  rpcResultsSchema,
  StopReportSchema,
} from './guest-answers.ts';
import { SsmCommands, unavailable } from './ssm-commands.ts';
import { readinessOf } from './ssm-readiness.ts';
import { GuestRequests } from './ssm-requests.ts';

export interface SsmChannelOptions {
  readonly ssm: SSMClient;
  /** Holds what is asked and answered, below `attempts/<attemptId>/guest/`. */
  readonly artifacts: ArtifactStore;
  readonly settings: Pick<SandboxSettings, 'documents'>;
  /** Without it what is called runs through the guest runner, which knows no screen. */
  readonly guestCalls: GuestCalls | null;
  readonly clock: Clock;
  /** A command waits for the job; its end is told by the cloud, by the command's id. Called once it is sent. */
  onCommand(commandId: string, jobId: string): Promise<void>;
}

/**
 * Drives machines through Systems Manager: every verb is a sealed request to the guest runner. A request that cannot be
 * delivered or answered is a guest that is not available.
 */
export function createSsmChannel(options: SsmChannelOptions): Channel {
  return new SsmChannel(options);
}

class SsmChannel implements Channel {
  readonly #options: SsmChannelOptions;
  readonly #commands: SsmCommands;
  readonly #requests: GuestRequests;
  /** Jobs that this process has started, which are known to be there. */
  readonly #started = new Set<string>();

  constructor(options: SsmChannelOptions) {
    const { ssm, artifacts, settings, clock } = options;
    this.#options = options;
    this.#commands = new SsmCommands({ ssm, documents: settings.documents, clock });
    this.#requests = new GuestRequests({ artifacts, clock, commands: this.#commands });
  }

  async start(sandbox: Sandbox, job: ChannelJob): Promise<void> {
    await this.#requests.ask(sandbox, { kind: 'start', job: guestJobOf(sandbox, job) }, NothingSchema);
    this.#started.add(keyOf(sandbox, job.jobId));
  }

  /** The wait of a job that is not there would end at once, and be taken for the job's end. */
  async wait(sandbox: Sandbox, jobId: string): Promise<void> {
    if (!this.#started.delete(keyOf(sandbox, jobId)) && (await this.status(sandbox, jobId)).state === 'unknown')
      throw unavailable(sandbox.sandboxId, `there is no job ${jobId}`);
    const commandId = await this.#requests.wait(sandbox, jobId);
    await this.#options.onCommand(commandId, jobId);
  }

  async status(sandbox: Sandbox, jobId: string): Promise<JobStatus> {
    return await this.#requests.ask(sandbox, { kind: 'status', jobId }, jobStatusSchema(jobId));
  }

  async firstLine(sandbox: Sandbox, jobId: string, timeoutSeconds: number): Promise<FirstLine> {
    const verb = { kind: 'first-line', jobId, timeoutSeconds } as const;
    return await this.#requests.ask(sandbox, verb, firstLineSchema(jobId), timeoutSeconds);
  }

  async stop(sandbox: Sandbox, jobId: string): Promise<StopReport> {
    const { uid = null, name: account = null } = sandbox.agent ?? {};
    return await this.#requests.ask(sandbox, { kind: 'stop', jobId, uid, account }, StopReportSchema, STOP_SECONDS);
  }

  async call(sandbox: Sandbox, calls: readonly RpcCall[], timeoutSeconds: number): Promise<readonly RpcResult[]> {
    if (calls.length === 0) return [];
    const { guestCalls } = this.#options;
    const { desktop } = sandbox;
    if (desktop === null || guestCalls === null) return await this.#callRunner(sandbox, calls, timeoutSeconds);
    const client = createPassedOnClient(guestCalls, desktop.endpoint.url);
    return await callServer(client, calls, timeoutSeconds, async (left, seconds, error) => {
      if (!left.some(isRunners)) throw error;
      return await this.#callWithoutServer(sandbox, left, seconds);
    });
  }

  /** A desktop ends with its agent; what the runner knows itself goes on as long as the machine does. */
  async #callWithoutServer(
    sandbox: Sandbox,
    calls: readonly RpcCall[],
    timeoutSeconds: number,
  ): Promise<readonly RpcResult[]> {
    const answers = [...(await this.#callRunner(sandbox, calls.filter(isRunners), timeoutSeconds))];
    return calls.map((call) => {
      if (isRunners(call)) return answers.shift() ?? { success: false, error: `${call.command} was not answered` };
      return { success: false, error: `${call.command} needs the desktop, which has ended` };
    });
  }

  async #callRunner(sandbox: Sandbox, calls: readonly RpcCall[], timeoutSeconds: number) {
    const { agent: account, guestIsolation: isolation, desktop } = sandbox;
    const env = desktop?.env ?? {};
    const batch = { version: GUEST_CONTRACT_VERSION, account, isolation, env, timeoutSeconds, calls } as const;
    return await this.#requests.ask(sandbox, { kind: 'rpc', batch }, rpcResultsSchema(calls.length), timeoutSeconds);
  }

  async readiness(sandbox: Sandbox): Promise<GuestReadiness> {
    return await readinessOf(sandbox, this.#commands);
  }

  jobFolder(sandbox: Sandbox, jobId: string): string {
    const separator = sandbox.os === 'windows' ? '\\' : '/';
    return `${GUEST_LAYOUT[sandbox.os].jobsFolder}${separator}${jobId}`;
  }
}

const isRunners = ({ command }: RpcCall): boolean => GUEST_COMMANDS.some((each) => each === command);

/** The runner kills for a minute before it reports survivors. */
export const STOP_SECONDS = 90;

const keyOf = (sandbox: Sandbox, jobId: string): string => `${sandbox.sandboxId} ${jobId}`;

/** The job with what the machine decides: whose it is, and its walls. */
function guestJobOf(sandbox: Sandbox, job: ChannelJob): GuestJob {
  const { as, ...asked } = job;
  const { network: _, ...work } = { network: undefined, ...asked };
  // A collect reads the agent's folders with the agent's eyes whoever asks for it; each root says whose it is.
  const isAgents = as === 'agent' || job.kind === 'collect';
  return {
    ...work,
    version: GUEST_CONTRACT_VERSION,
    account: isAgents ? sandbox.agent : null,
    isolation: isAgents ? sandbox.guestIsolation : { kind: 'none' },
  };
}
