import { rowKeys } from '#core/keys';
import { StaticAttachmentRowSchema, StaticLockRowSchema, type StaticLockRow } from '#core/rows';
import { readBody, withConflictRetry } from '#core/stored-rows';
import type { Clock } from '#ports/clock';
import type { Sandbox } from '#ports/sandbox-provider';
import type { Row, RowCondition, RowWrite, UnitStore } from '#ports/unit-store';
import {
  ATTACHMENT_ID,
  ATTACHMENTS_AT_A_TIME,
  type HoldAnswer,
  type StaticAttachment,
  type StaticAttachments,
  type StaticHolder,
} from './static-attachments.ts';

export interface StaticRowOptions {
  readonly unitStore: UnitStore;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Attachments as rows of the unit store, which all functions of a stage share. An attachment and the lock of its machine are
 * written and removed in one step, so that a process that dies leaves both or neither.
 */
export function createStaticRows(options: StaticRowOptions): StaticAttachments {
  return new StaticRows(options);
}

interface Stored<T> {
  readonly value: T;
  readonly version: number;
}

class StaticRows implements StaticAttachments {
  readonly #store: UnitStore;
  readonly #clock: Pick<Clock, 'now'>;

  constructor({ unitStore, clock }: StaticRowOptions) {
    this.#store = unitStore;
    this.#clock = clock;
  }

  async read(sandboxId: string): Promise<StaticAttachment | undefined> {
    return ATTACHMENT_ID.test(sandboxId) ? (await this.#attachment(sandboxId))?.value : undefined;
  }

  async hold(wanted: StaticAttachment): Promise<HoldAnswer> {
    return await withConflictRetry(async () => {
      const { sandboxId, attemptId, endpoint } = wanted;
      const own = await this.#attachment(sandboxId);
      const lock = await this.#lock(endpoint);
      const other = lock === undefined || lock.value.sandboxId === sandboxId ? undefined : lock.value;
      if (other !== undefined && (await this.#attachment(other.sandboxId)) !== undefined)
        return { kind: 'taken', holder: told(other) };
      const attachment = own?.value ?? wanted;
      if (own !== undefined && lock?.value.sandboxId === sandboxId) return { kind: 'held', attachment };
      const body: StaticLockRow = { endpoint, sandboxId, attemptId, heldAt: this.#clock.now().toISOString() };
      await this.#store.write([
        { put: { ...rowKeys.staticAttachment(sandboxId), body: { ...attachment } }, when: unchanged(own) },
        { put: { ...rowKeys.staticLock(endpoint), body }, when: unchanged(lock) },
        // What the lock names must still not be there when the lock changes hands.
        ...(other === undefined
          ? []
          : [{ check: rowKeys.staticAttachment(other.sandboxId), when: 'absent' } satisfies RowWrite]),
      ]);
      return { kind: 'held', attachment };
    });
  }

  async update(attachment: StaticAttachment): Promise<boolean> {
    return await withConflictRetry(async () => {
      const before = await this.#attachment(attachment.sandboxId);
      if (before === undefined) return false;
      if (before.value.sandbox !== null && attachment.sandbox === null) return true;
      const key = rowKeys.staticAttachment(attachment.sandboxId);
      await this.#store.write([{ put: { ...key, body: { ...attachment } }, when: unchanged(before) }]);
      return true;
    });
  }

  async free(
    { sandboxId, endpoint }: Pick<StaticAttachment, 'sandboxId' | 'endpoint'>,
    left: StaticAttachment | null,
  ): Promise<void> {
    const key = rowKeys.staticAttachment(sandboxId);
    await withConflictRetry(async () => {
      const lock = await this.#lock(endpoint);
      const isOwn = lock?.value.sandboxId === sandboxId;
      await this.#store.write([
        left === null ? { remove: key, when: 'any' } : { put: { ...key, body: { ...left } }, when: 'any' },
        ...(isOwn ? [{ remove: rowKeys.staticLock(endpoint), when: unchanged(lock) } satisfies RowWrite] : []),
      ]);
    });
  }

  async list(after?: string): ReturnType<StaticAttachments['list']> {
    const { pk } = rowKeys.staticAttachment('');
    const behind = after === undefined ? {} : { after };
    const { rows, cursor } = await this.#store.query({ pk, limit: ATTACHMENTS_AT_A_TIME, ...behind });
    const attachments = rows.map((row) => attachmentOf(row).value);
    const next = attachments.at(-1)?.sandboxId ?? after;
    return { attachments, ...(cursor === undefined || next === undefined ? {} : { next }) };
  }

  async #attachment(sandboxId: string): Promise<Stored<StaticAttachment> | undefined> {
    const row = await this.#store.get(rowKeys.staticAttachment(sandboxId));
    return row === undefined ? undefined : attachmentOf(row);
  }

  async #lock(endpoint: string): Promise<Stored<StaticLockRow> | undefined> {
    const row = await this.#store.get(rowKeys.staticLock(endpoint));
    return row === undefined ? undefined : { value: readBody(StaticLockRowSchema, row), version: row.version };
  }
}

function attachmentOf(row: Row): Stored<StaticAttachment> {
  const { sandbox, ...rest } = readBody(StaticAttachmentRowSchema, row);
  return { value: { ...rest, sandbox: sandbox as Sandbox | null }, version: row.version };
}

function unchanged(before: { readonly version: number } | undefined): RowCondition {
  return before === undefined ? 'absent' : { version: before.version };
}

function told({ attemptId, heldAt }: StaticLockRow): StaticHolder {
  return {
    attemptId,
    where: `since ${heldAt}`,
    remedy:
      'Wait for it: the machine is free once that attempt is released, which its timer and the reaper see to when everything else is dead',
  };
}
