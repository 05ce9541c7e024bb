import type { LogEvent } from '#core/log-events';
import type { DeploymentPolicy } from '#core/policy';
import type { ArtifactStore } from '#ports/artifact-store';
import type { Channel } from '#ports/channel';
import type { Clock } from '#ports/clock';
import type { GuestCalls } from '#ports/guest-calls';
import type { Events, Executions, Ids, TaskTokens, Timers } from '#ports/hosting';
import type { ModuleRunner } from '#ports/module-runner';
import type { RunTree } from '#ports/run-tree';
import type { Sandbox, SandboxProvider } from '#ports/sandbox-provider';
import type { Thumbnailer } from '#ports/thumbnailer';
import type { UnitStore } from '#ports/unit-store';
import type { Workspace } from '#ports/workspace';

/** Everything a use case may be given; each names the few it needs with `Pick`. */
export interface Ports {
  readonly unitStore: UnitStore;
  readonly artifacts: ArtifactStore;
  readonly providers: Providers;
  readonly channels: Channels;
  readonly guestCalls: GuestCalls;
  /** `address:port` of static machines that calls to guests may reach besides sandboxes. */
  readonly guestHosts: readonly string[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly events: Events;
  readonly tokens: TaskTokens;
  readonly executions: Executions;
  readonly timers: Timers;
  readonly runTree: RunTree;
  readonly workspace: Workspace;
  readonly modules: ModuleRunner;
  readonly digest: Digest;
  readonly thumbnails: Thumbnailer;
  /** Versions of Exam Hall, Node and the guest runner, as records state them. */
  readonly versions: Readonly<Record<string, string | null>>;
  /** AWS region the host runs in, whose prices hold; null on one computer. */
  readonly region: string | null;
  /** Version and source hash of Exam Hall itself, which sweeps pin. */
  readonly code: { readonly version: string; readonly sha256: string };
  /** What this deployment allows. */
  readonly policy: DeploymentPolicy;
  readonly log: Log;
}

/** SHA-256 as lower-case hex. */
export interface Digest {
  readonly sha256: (content: string | Uint8Array) => string;
}

export interface Providers {
  /** @throws SandboxRefusedError naming the provider and what is available. */
  get(name: string): SandboxProvider;
  all(): readonly SandboxProvider[];
}

export interface Channels {
  for(sandbox: Pick<Sandbox, 'channel' | 'provider'>): Channel;
}

/** Structured log of one function; keys of the unit at hand are added by the runtime. */
export interface Log {
  info(event: LogEvent, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: LogEvent, fields?: Readonly<Record<string, unknown>>): void;
  error(event: LogEvent, fields?: Readonly<Record<string, unknown>>): void;
}
