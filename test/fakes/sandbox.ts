import { createNoopChannel, type NoopChannelOptions } from '#local/sandboxes/noop-channel';
import { createNoopProvider, type BeforeAct } from '#local/sandboxes/noop-provider';
import type { Channel } from '#ports/channel';
import type { SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';

/** A provider in memory that writes down each act and fails where it is told to. */
export function fakeProvider(options: { readonly name?: string; readonly failOn?: BeforeAct } = {}): SandboxProvider & {
  readonly acts: readonly string[];
} {
  const acts: string[] = [];
  const provider = createNoopProvider({
    ...(options.name === undefined ? {} : { name: options.name }),
    before: async (act, subject) => {
      acts.push(`${act} ${subject}`.trim());
      await options.failOn?.(act, subject);
    },
  });
  return { ...provider, acts };
}

/** A channel in memory whose finished jobs are told to `finished`. */
export function fakeChannel(options: Partial<NoopChannelOptions> = {}): {
  readonly channel: Channel;
  readonly finished: string[];
} {
  const finished: string[] = [];
  const channel = createNoopChannel({ onJobFinished: (jobId) => finished.push(jobId), ...options });
  return { channel, finished };
}

let tokens = 0;

/** What an attempt asks of a provider, with overrides; each has a client token of its own. */
export function sandboxSpec(overrides: Partial<SandboxSpec> = {}): SandboxSpec {
  tokens += 1;
  return {
    clientToken: `token-${process.pid}-${Date.now()}-${tokens}`,
    attemptId: 'demo__nop__none__data__v0.1',
    provider: 'process',
    snapshot: 'local',
    image: 'local',
    os: 'linux',
    vCpus: 2,
    memoryMiB: 2048,
    gpu: false,
    network: 'open',
    privilege: 'restricted',
    resolution: null,
    expiresAt: '2099-01-01T00:00:00.000Z',
    tags: { 'examhall:sweep': 'demo' },
    knobs: {},
    ...overrides,
  };
}
