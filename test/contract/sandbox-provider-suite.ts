import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanupModesOf } from '#core/cleanup-mode';
import type { SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';
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
      expect(report.left).toEqual([]);
      expect(report.gone).toEqual(expect.arrayContaining([...sandbox.resources]));
      expect(await subject.provider.describe(sandbox)).toMatchObject({ state: 'gone' });
      const listed = (await subject.provider.list()).sandboxes.map((each) => each.sandboxId);
      expect(listed).not.toContain(sandbox.sandboxId);
      expect(await subject.provider.release(sandbox, 'delete')).toEqual({ gone: sandbox.resources, left: [] });
    });

    it('takes a sandbox it never had for released', async () => {
      const resources = [{ kind: 'machine', resourceId: 'nobody' }] as const;
      const stranger = { sandboxId: 'nobody', resources };
      expect(await subject.provider.describe(stranger)).toEqual({ state: 'gone', evidence: null });
      expect(await subject.provider.release(stranger, 'delete')).toEqual({ gone: resources, left: [] });
    });

    it('keeps what is stopped or kept in its list until it is deleted', async () => {
      for (const mode of cleanupModesOf(subject.provider.name).filter((each) => each === 'stop' || each === 'keep')) {
        const sandbox = await subject.provider.acquire(spec());
        expect((await subject.provider.release(sandbox, mode)).left).toEqual([]);
        const listed = (await subject.provider.list()).sandboxes.map((each) => each.sandboxId);
        expect(listed).toContain(sandbox.sandboxId);
        expect((await subject.provider.describe(sandbox)).state).not.toBe('gone');
        await subject.provider.release(sandbox, 'delete');
        expect(await subject.provider.describe(sandbox)).toMatchObject({ state: 'gone' });
      }
    });

    it('drops what is detached from its list', async () => {
      const sandbox = await subject.provider.acquire(spec());
      expect((await subject.provider.release(sandbox, 'detach')).left).toEqual([]);
      const listed = (await subject.provider.list()).sandboxes.map((each) => each.sandboxId);
      expect(listed).not.toContain(sandbox.sandboxId);
      await subject.provider.release(sandbox, 'delete');
    });
  });
}
