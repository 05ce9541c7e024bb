import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanupModesOf } from '#core/cleanup-mode';
import { withFate } from '#core/teardown';
import type { ReleaseMode, Sandbox, SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';
import { sandboxSpec } from '#test/fakes/sandbox';

export interface ProviderSubject {
  readonly provider: SandboxProvider;
  /** What each request must say besides; asked anew for each. */
  spec?(): Partial<SandboxSpec>;
  remove(): Promise<void>;
}

/** What every provider keeps, whatever its machines are. */
export function describeSandboxProvider(title: string, open: () => Promise<ProviderSubject>): void {
  describe(`sandbox provider: ${title}`, () => {
    let subject: ProviderSubject;
    beforeAll(async () => {
      subject = await open();
    });
    afterAll(() => subject.remove());
    const spec = (overrides = {}) =>
      sandboxSpec({ provider: subject.provider.name, ...subject.spec?.(), ...overrides });

    /** Without a handle, and again with it. */
    const leave = async (sandbox: Sandbox, mode: ReleaseMode) => {
      for (const resources of [[], sandbox.resources]) {
        const report = await subject.provider.release({ ...sandbox, resources }, mode);
        const names = report.map(({ kind, resourceId }) => ({ kind, resourceId }));
        expect(names).toEqual(expect.arrayContaining([...resources]));
        expect(names.length).toBeGreaterThan(0);
        expect(new Set(names.map((name) => JSON.stringify(name))).size).toBe(names.length);
        // What has been detached is ours no more where that can be told.
        const fates = mode === 'detach' ? ['set-aside', 'not-ours'] : ['set-aside'];
        expect(report.filter(({ fate }) => !fates.includes(fate))).toEqual([]);
      }
    };

    it('gives a ready sandbox that says whose it is and what has to be seen gone', async () => {
      const asked = spec({ attemptId: 'a__b__c__d__v0.3', expiresAt: '2098-02-03T04:05:06.000Z' });
      const sandbox = await subject.provider.acquire(asked);
      expect(sandbox).toMatchObject({ attemptId: asked.attemptId, provider: subject.provider.name, os: 'linux' });
      expect(sandbox.resources.length).toBeGreaterThan(0);
      expect(JSON.parse(JSON.stringify(sandbox))).toEqual(sandbox);
      expect(await subject.provider.describe(sandbox)).toEqual({ state: 'ready' });
      const listed = (await subject.provider.list()).sandboxes.find((each) => each.sandboxId === sandbox.sandboxId);
      expect(listed).toEqual({
        sandboxId: sandbox.sandboxId,
        attemptId: asked.attemptId,
        expiresAt: asked.expiresAt,
        state: 'ready',
      });
      await subject.provider.release(sandbox, 'delete');
    });

    it('gives one sandbox for one token, also when asked twice at once', async () => {
      const asked = spec();
      const [first, second] = await Promise.all([subject.provider.acquire(asked), subject.provider.acquire(asked)]);
      const third = await subject.provider.acquire(asked);
      expect([second, third]).toEqual([first, first]);
      const other = await subject.provider.acquire(spec());
      expect(other.sandboxId).not.toBe(first.sandboxId);
      await subject.provider.release(first, 'delete');
      expect(await subject.provider.describe(other)).toEqual({ state: 'ready' });
      await subject.provider.release(other, 'delete');
    });

    it('sees every resource gone after a delete, and again when asked again', async () => {
      const sandbox = await subject.provider.acquire(spec());
      const report = await subject.provider.release(sandbox, 'delete');
      expect(report).toEqual(expect.arrayContaining([...withFate(sandbox.resources, 'gone')]));
      expect(report.filter(({ fate }) => fate !== 'gone')).toEqual([]);
      expect(await subject.provider.describe(sandbox)).toMatchObject({ state: 'gone' });
      const listed = (await subject.provider.list()).sandboxes.map((each) => each.sandboxId);
      expect(listed).not.toContain(sandbox.sandboxId);
      expect(await subject.provider.release(sandbox, 'delete')).toEqual(withFate(sandbox.resources, 'gone'));
    });

    it('takes a sandbox it never had for released', async () => {
      const resources = [{ kind: 'machine', resourceId: 'nobody' }] as const;
      const stranger = { sandboxId: 'nobody', resources };
      expect(await subject.provider.describe(stranger)).toEqual({ state: 'gone', evidence: null });
      expect(await subject.provider.release(stranger, 'delete')).toEqual(withFate(resources, 'gone'));
    });

    it('names what it leaves, and keeps what is stopped or kept in its list until it is deleted', async () => {
      for (const mode of cleanupModesOf(subject.provider.name).filter((each) => each === 'stop' || each === 'keep')) {
        const sandbox = await subject.provider.acquire(spec());
        await leave(sandbox, mode);
        const listed = (await subject.provider.list()).sandboxes.map((each) => each.sandboxId);
        expect(listed).toContain(sandbox.sandboxId);
        expect((await subject.provider.describe(sandbox)).state).not.toBe('gone');
        await subject.provider.release(sandbox, 'delete');
        expect(await subject.provider.describe(sandbox)).toMatchObject({ state: 'gone' });
      }
    }, 60_000);

    it('names what it leaves, and drops what is detached from its list', async () => {
      const sandbox = await subject.provider.acquire(spec());
      await leave(sandbox, 'detach');
      const listed = (await subject.provider.list()).sandboxes.map((each) => each.sandboxId);
      expect(listed).not.toContain(sandbox.sandboxId);
      await subject.provider.release(sandbox, 'delete');
    });
  });
}
