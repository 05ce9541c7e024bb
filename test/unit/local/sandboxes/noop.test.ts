import { describe, expect, it } from 'vitest';
import { createNoopChannel } from '#local/sandboxes/noop-channel';
import { createNoopProvider } from '#local/sandboxes/noop-provider';
import { sandboxSpec } from '#test/fakes/sandbox';

describe('a no-op sandbox that is gone', () => {
  it('is told of once it is deleted, not when it is kept, and its channel lets go of it', async () => {
    const gone: string[] = [];
    const provider = createNoopProvider({ onGone: (sandboxId) => gone.push(sandboxId) });
    const channel = createNoopChannel({ onJobFinished: () => undefined });
    const sandbox = await provider.acquire(sandboxSpec());
    const job = { kind: 'exec', jobId: 'job', wallSeconds: 9, as: 'agent', argv: ['true'], cwd: '/', env: {} } as const;
    await channel.start(sandbox, { ...job, stdin: null, outputLimitMiB: 1 });
    await channel.call(sandbox, [{ command: 'write_text', params: { path: '/tmp/a', content: 'a' } }], 9);
    expect(await channel.status(sandbox, 'job')).toMatchObject({ state: 'finished' });
    await provider.release(sandbox, 'keep');
    expect(gone).toEqual([]);
    await provider.release(sandbox, 'delete');
    expect(gone).toEqual([sandbox.sandboxId]);
    channel.forget(sandbox.sandboxId);
    expect(await channel.status(sandbox, 'job')).toEqual({ state: 'unknown' });
    const [there] = await channel.call(sandbox, [{ command: 'file_exists', params: { path: '/tmp/a' } }], 9);
    expect(there).toMatchObject({ exists: false });
  });
});
