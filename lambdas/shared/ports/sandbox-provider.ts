import type { CleanupMode } from '#core/cleanup-mode';
import type { BilledMachine } from '#core/cost-facts';
import type { Fate } from '#core/teardown';
import type { GuestAccount, GuestIsolation } from '#contracts/guest';

export type ReleaseMode = CleanupMode;

/** What an attempt asks of a provider. `clientToken` makes acquire idempotent: one token, one machine. */
export interface SandboxSpec {
  readonly clientToken: string;
  readonly attemptId: string;
  readonly provider: string;
  readonly snapshot: string;
  readonly image: string;
  readonly os: 'linux' | 'windows';
  /** Name of the size that the card asks for; null, or absent, when it gives sizes alone or none. */
  readonly machineType?: string | null;
  readonly vCpus: number;
  readonly memoryMiB: number;
  readonly gpu: boolean;
  readonly network: 'open' | 'sealed';
  readonly privilege: 'upstream' | 'restricted';
  readonly resolution: string | null;
  /** ISO-8601 UTC; after it the sandbox may be ended by anyone. */
  readonly expiresAt: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The provider's own settings of the environment file's snapshot entry. */
  readonly knobs: Readonly<Record<string, unknown>>;
}

/** Where things are, in the guest's own path style. */
export interface SandboxPaths {
  /** Holds `<domain>/<task>/<variant>/{input,software,output}`. */
  readonly dataRoot: string;
  /** Holds `<agent>/<attempt>`: the agent's working folder. */
  readonly workRoot: string;
  /** Node as the agent's jobs find it. */
  readonly node: string;
  /** Node as the runner's jobs find it. */
  readonly runnerNode: string;
}

/** How far the agent is walled off from the host and its neighbours, as really provided. */
export interface IsolationReport {
  readonly kind: 'machine' | 'namespaces' | 'none';
  readonly network: 'own' | 'host';
  readonly reason: string | null;
}

/** Something the attempt made that must be seen gone before its unit closes. */
export interface TeardownResource {
  readonly kind: 'machine' | 'volume' | 'interface' | 'schedule' | 'activation' | 'folder' | 'account';
  readonly resourceId: string;
}

/** The screen of a sandbox and the cua-server that drives it. */
export interface SandboxDesktop {
  /** What CUA_SERVER_URL says inside the sandbox. */
  readonly serverUrl: string;
  /** How the host reaches the server; by the socket when its network is not the host's. */
  readonly endpoint: { readonly url: string; readonly socketPath: string | null };
  /** DISPLAY and the like, for jobs of the agent. */
  readonly env: Readonly<Record<string, string>>;
  /** Path inside of the bundled bridge `cua-desktop.mjs`; null where there is none. */
  readonly bridge: string | null;
  /** `<width>x<height>` in pixels that was asked for; absent where the screen is known to have it. */
  readonly size?: string;
}

/** JSON-safe handle of a sandbox; it crosses functions. */
export interface Sandbox {
  readonly sandboxId: string;
  readonly attemptId: string;
  readonly provider: string;
  readonly os: 'linux' | 'windows';
  readonly channel: 'local' | 'ssm' | 'cua';
  readonly imageRevision: string | null;
  readonly paths: SandboxPaths;
  readonly agent: GuestAccount | null;
  readonly isolation: IsolationReport;
  readonly guestIsolation: GuestIsolation;
  /** Null for a sandbox without a screen. */
  readonly desktop: SandboxDesktop | null;
  readonly endpoint: string | null;
  readonly resources: readonly TeardownResource[];
  /** What somebody sends a bill for; absent where nobody does. */
  readonly billed?: BilledMachine;
  /** ISO-8601 UTC time of the launch; a provider may not know a machine yet shortly after it. Absent where nothing is launched. */
  readonly launchedAt?: string;
  /** Where it was launched, as `LaunchLog` names pools. */
  readonly pool?: string;
  /** Public key that requests to its guest runner are sealed for, once the runner has told it. */
  readonly sealingKey?: string;
}

/**
 * `evidence` is the provider's own reason for a loss (spot notice, failed check); null when it has none. A machine that is still
 * there has it only while its provider says that something is wrong with it. `isEndByCall` when the reason is that somebody called
 * the provider: no machine does that to itself, but its attempt's own release may have been it. `gone` is lost to its attempt for good;
 * `isStillThere` when the provider has it nevertheless, and its disk is billed. `isNotOurs` is as lost to its attempt, whatever it
 * does: somebody took what made it ours, and with it every right we had.
 */
export type SandboxState =
  | { readonly state: 'pending' | 'ready'; readonly evidence?: string; readonly isNotOurs?: true }
  | { readonly state: 'stopped'; readonly evidence?: string; readonly isEndByCall?: true; readonly isNotOurs?: true }
  | {
      readonly state: 'gone';
      readonly evidence: string | null;
      readonly isEndByCall?: true;
      readonly isStillThere?: true;
    };

/** What is known of a sandbox that is to be released; the more of it, the more of what it left is found. */
export type SandboxToRelease = Pick<Sandbox, 'sandboxId' | 'resources'> &
  Partial<Pick<Sandbox, 'attemptId' | 'launchedAt'>>;

/** What a sandbox of some wish would take, as far as that is known before anything is launched. */
export interface SandboxOffer {
  /** One for each size it may get; which one, capacity decides. */
  readonly machines: readonly BilledMachine[];
  /** vCPUs that count against the provider's quota. */
  readonly vCpus: number;
  /** How many sandboxes of the same image may run at once; null for any number. */
  readonly seats: number | null;
  /** What there are so many seats of; absent where that is the image. */
  readonly seatOf?: string;
}

export type SandboxWish = Pick<
  SandboxSpec,
  | 'snapshot'
  | 'image'
  | 'os'
  | 'machineType'
  | 'vCpus'
  | 'memoryMiB'
  | 'gpu'
  | 'network'
  | 'privilege'
  | 'resolution'
  | 'knobs'
>;

export interface SandboxSummary {
  readonly sandboxId: string;
  readonly attemptId: string;
  readonly expiresAt: string;
  readonly state: SandboxState['state'];
}

/** A resource, and what became of it; what is `left` goes when its release is called again, or the reaper calls it. */
export interface ReleasedResource extends TeardownResource {
  readonly fate: Fate;
}

/**
 * Names, each once, all that was asked for or found of a sandbox, also what it leaves on purpose (never in mode `delete`). What it
 * does not name is not there.
 */
export type ReleaseReport = readonly ReleasedResource[];

/** How long a pool that had no machine is passed over. */
export type LaunchRefusal = 'capacity' | 'quota';

/**
 * What is kept of launches between calls, so that a repeat finds the machine that the first call launched. A pool is a machine
 * type and a zone, `m7i.xlarge eu-west-1a`.
 */
export interface LaunchLog {
  /** Pools that had no machine a short while ago; they come last. */
  readonly coolingPools: readonly string[];
  /** The launch that was noted last for this attempt, and whether it was refused; null before the first. */
  readonly last: { readonly launchTry: number; readonly pool: string; readonly refused: boolean } | null;
  /** Called before each launch, and done before it is sent. */
  note(launch: { readonly launchTry: number; readonly pool: string }): Promise<void>;
  /** A pool had no machine, or the account's quota allows none. */
  refused(pool: string, refusal: LaunchRefusal): Promise<void>;
}

/** What a machine shows of a failed start. */
export interface BootEvidence {
  readonly consoleOutput: string | null;
  /** JPEG. */
  readonly screenshot: Uint8Array | null;
}

/** Makes and ends sandboxes. Every call is safe to repeat; a sandbox that is not there is released already. */
export interface SandboxProvider {
  readonly name: string;
  /** No machine is ready sooner after its launch; absent where one may be at once. */
  readonly leastStartSeconds?: number;
  /** @throws CapacityUnavailableError | SandboxRefusedError (names the unsupported wish) | ImageMissingError. */
  acquire(spec: SandboxSpec, launches?: LaunchLog): Promise<Sandbox>;
  describe(sandbox: Pick<Sandbox, 'sandboxId' | 'launchedAt'>): Promise<SandboxState>;
  release(sandbox: SandboxToRelease, mode: ReleaseMode): Promise<ReleaseReport>;
  /** Everything of ours that the provider itself knows of, also what the unit store forgot. */
  list(cursor?: string): Promise<{ readonly sandboxes: readonly SandboxSummary[]; readonly cursor?: string }>;
  /** Said from settings alone; null for a wish that cannot be met. Absent where nothing is billed or counted. */
  readonly offer?: (wish: SandboxWish) => SandboxOffer | null;
  /** Why a wish cannot be met, said from settings alone; null for one that can. Absent where only a launch tells. */
  readonly refusal?: (wish: SandboxWish) => string | null;
  /** Absent where a machine shows nothing of itself. */
  readonly bootEvidence?: (sandbox: Pick<Sandbox, 'sandboxId'>) => Promise<BootEvidence>;
}
