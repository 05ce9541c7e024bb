import { createHash } from 'node:crypto';
import { withFate } from '#core/teardown';
import type { ReleaseMode, ReleaseReport, Sandbox, SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';

interface Held {
  readonly sandbox: Sandbox;
  readonly expiresAt: string;
  state: 'ready' | 'stopped' | 'detached';
}

/** What may be told to go wrong: called before each act, with what it is about. */
export type BeforeAct = (act: 'acquire' | 'describe' | 'release' | 'list', subject: string) => void | Promise<void>;

export interface NoopProviderOptions {
  readonly name?: string;
  readonly before?: BeforeAct;
  /** Told of each sandbox that is gone for good. */
  readonly onGone?: (sandboxId: string) => void;
}

/**
 * Sandboxes that are nothing but an entry in memory: for measuring what the pipeline itself costs, and as the fake of the
 * port. They grant every wish; what was there is forgotten with the process.
 */
export function createNoopProvider(options: NoopProviderOptions = {}): SandboxProvider {
  const { name = 'noop', before = () => undefined, onGone } = options;
  const held = new Map<string, Held>();

  async function acquire(spec: SandboxSpec): Promise<Sandbox> {
    await before('acquire', spec.clientToken);
    const sandboxId = `${name}-${createHash('sha256').update(spec.clientToken).digest('hex').slice(0, 20)}`;
    const known = held.get(sandboxId);
    if (known !== undefined) return known.sandbox;
    const sandbox = buildSandbox(name, sandboxId, spec);
    held.set(sandboxId, { sandbox, expiresAt: spec.expiresAt, state: 'ready' });
    return sandbox;
  }

  async function release(asked: Pick<Sandbox, 'sandboxId' | 'resources'>, mode: ReleaseMode): Promise<ReleaseReport> {
    await before('release', asked.sandboxId);
    const known = held.get(asked.sandboxId);
    if (known === undefined) return withFate(asked.resources, 'gone');
    known.state = mode === 'detach' ? 'detached' : 'stopped';
    if (mode !== 'delete') return withFate(known.sandbox.resources, 'set-aside');
    held.delete(asked.sandboxId);
    onGone?.(asked.sandboxId);
    return withFate(known.sandbox.resources, 'gone');
  }

  return {
    name,
    acquire,
    release,
    describe: async ({ sandboxId }) => {
      await before('describe', sandboxId);
      const known = held.get(sandboxId);
      if (known === undefined) return { state: 'gone', evidence: null };
      return { state: known.state === 'ready' ? 'ready' : 'stopped' };
    },
    list: async () => {
      await before('list', '');
      const sandboxes = [...held.values()].flatMap(({ sandbox: { sandboxId, attemptId }, expiresAt, state }) =>
        state === 'detached' ? [] : [{ sandboxId, attemptId, expiresAt, state }],
      );
      return { sandboxes };
    },
  };
}

function buildSandbox(provider: string, sandboxId: string, spec: SandboxSpec): Sandbox {
  return {
    sandboxId,
    attemptId: spec.attemptId,
    provider,
    os: spec.os,
    channel: 'local',
    imageRevision: null,
    paths: {
      dataRoot: '/media/user/data/agenthle',
      workRoot: '/home/user/.ale',
      runnerNode: process.execPath,
      node: '/opt/examhall/node/bin/node',
    },
    agent: { name: 'user', uid: null, gid: null, home: '/home/user' },
    isolation: { kind: 'none', network: 'host', reason: 'there is no machine behind it' },
    guestIsolation: { kind: 'none' },
    desktop: null,
    endpoint: null,
    resources: [{ kind: 'machine', resourceId: sandboxId }],
  };
}
