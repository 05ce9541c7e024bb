import { beforeAll, describe, expect, it } from 'vitest';
import {
  attachmentIdOf,
  ATTACHMENTS_AT_A_TIME,
  type StaticAttachment,
  type StaticAttachments,
} from '#adapters/static-attachments';
import type { Sandbox } from '#ports/sandbox-provider';
import { fakeProvider, sandboxSpec } from '#test/fakes/sandbox';

let given = 0;

/** An attachment of a token of its own, to a machine of its own unless told. */
function attachment(overrides: Partial<StaticAttachment> = {}): StaticAttachment {
  given += 1;
  return {
    state: 'pending',
    sandboxId: attachmentIdOf(`token-${String(process.pid)}-${String(given)}`),
    attemptId: `a__b__c__d__v0.${String(given)}`,
    endpoint: `http://10.0.0.${String(given)}:5000`,
    expiresAt: '2099-01-01T00:00:00.000Z',
    knobs: { endpoint: `http://10.0.0.${String(given)}:5000`, cleanup_script: 'true' },
    folder: null,
    sandbox: null,
    ...overrides,
  };
}

/** What attachments to given machines keep, wherever they are written down. `open` is asked for each process there is. */
export function describeStaticAttachments(open: () => StaticAttachments): void {
  let one: StaticAttachments;
  let other: StaticAttachments;
  let sandbox: Sandbox;
  beforeAll(async () => {
    one = open();
    other = open();
    sandbox = await fakeProvider({ name: 'static' }).acquire(sandboxSpec());
  });
  const free = async (...held: readonly StaticAttachment[]): Promise<void> => {
    for (const each of held) await one.free(each, null);
  };

  it('an attachment is known to every process once its machine is held, and to none once it is freed', async () => {
    const mine = attachment();
    expect(await one.read(mine.sandboxId)).toBeUndefined();
    expect(await one.hold(mine)).toEqual({ kind: 'held', attachment: mine });
    expect(await other.read(mine.sandboxId)).toEqual(mine);
    await one.free(mine, null);
    await one.free(mine, null);
    expect(await other.read(mine.sandboxId)).toBeUndefined();
  });

  it('holds a machine for one attachment at a time, and names it to the next', async () => {
    const first = attachment();
    const second = attachment({ endpoint: first.endpoint });
    await one.hold(first);
    const refused = await other.hold(second);
    expect(refused).toMatchObject({ kind: 'taken', holder: { attemptId: first.attemptId } });
    if (refused.kind === 'taken') expect(refused.holder.remedy).toMatch(/^Wait for it/u);
    expect(await one.read(second.sandboxId)).toBeUndefined();
    await other.free(second, null);
    expect((await other.hold(second)).kind).toBe('taken');
    await one.free(first, null);
    expect((await other.hold(second)).kind).toBe('held');
    await free(second);
  });

  it('gives a machine that many ask for at once to exactly one of them', async () => {
    const { endpoint } = attachment();
    const asking = Array.from({ length: 8 }, () => attachment({ endpoint }));
    const answers = await Promise.all(asking.map((each, index) => (index % 2 === 0 ? one : other).hold(each)));
    expect(answers.filter(({ kind }) => kind === 'held')).toHaveLength(1);
    await free(...asking);
    const last = attachment({ endpoint });
    expect((await one.hold(last)).kind).toBe('held');
    await free(last);
  });

  it('gives back what is known of an attachment that is held again', async () => {
    const mine = attachment();
    await one.hold(mine);
    const furnished = { ...mine, folder: '/srv/x/.examhall/sbx' };
    expect(await one.update(furnished)).toBe(true);
    expect(await other.hold(mine)).toEqual({ kind: 'held', attachment: furnished });
    await free(mine);
  });

  it('keeps a sandbox that is known, whatever a slower call says, and forgets nothing of it', async () => {
    const mine = attachment();
    await one.hold(mine);
    const ready: StaticAttachment = { ...mine, state: 'ready', folder: '/srv/x', sandbox };
    expect(await one.update(ready)).toBe(true);
    expect(await other.update({ ...mine, folder: '/srv/x' })).toBe(true);
    expect(await other.read(mine.sandboxId)).toEqual(ready);
    await free(mine);
  });

  it('writes nothing of an attachment that was freed meanwhile', async () => {
    const mine = attachment();
    await one.hold(mine);
    await other.free(mine, null);
    expect(await one.update({ ...mine, state: 'ready', sandbox })).toBe(false);
    expect(await one.read(mine.sandboxId)).toBeUndefined();
  });

  it('keeps what is left of an attachment whose machine is free for others', async () => {
    const mine = attachment();
    await one.hold(mine);
    const left: StaticAttachment = { ...mine, state: 'stopped', sandbox };
    await one.free(mine, left);
    expect(await other.read(mine.sandboxId)).toEqual(left);
    const next = attachment({ endpoint: mine.endpoint });
    expect((await other.hold(next)).kind).toBe('held');
    await one.free(left, null);
    expect((await one.hold(attachment({ endpoint: mine.endpoint }))).kind).toBe('taken');
    await free(next);
  });

  it('lists every attachment once, page by page', async () => {
    const held = Array.from({ length: ATTACHMENTS_AT_A_TIME + 3 }, () => attachment());
    for (const each of held) await one.hold(each);
    const seen: string[] = [];
    let pages = 0;
    for (let after: string | undefined; pages === 0 || after !== undefined; pages += 1) {
      const page = await other.list(after);
      seen.push(...page.attachments.map(({ sandboxId }) => sandboxId));
      after = page.next;
    }
    expect(pages).toBeGreaterThan(1);
    expect(seen).toEqual(held.map(({ sandboxId }) => sandboxId).toSorted());
    await free(...held);
    expect((await one.list()).attachments).toEqual([]);
  }, 60_000);

  describe('an id that is none', () => {
    it.each(['', '../sbx', 'sbx-', 'i-0123456789'])('is known to nobody: %j', async (id) => {
      expect(await one.read(id)).toBeUndefined();
    });
  });
}
