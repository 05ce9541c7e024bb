import type * as z from 'zod';
import { ExamHallError, isErrorNamed } from './errors.ts';

interface StoredRow {
  readonly pk: string;
  readonly sk: string;
  readonly body: unknown;
}

/** @throws ExamHallError StoreUnavailableError when a stored row does not fit its schema. */
export function readBody<T>(schema: z.ZodType<T>, { pk, sk, body }: StoredRow): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  throw new ExamHallError('StoreUnavailableError', `row ${pk} ${sk} has a shape this version cannot read`, { issues });
}

/** Most times a write is tried again after another writer came first. */
const WRITE_TRIES = 12;

/** Runs `step` again while another writer wins; `step` must read afresh each time. */
export async function withConflictRetry<R>(step: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      if (tries >= WRITE_TRIES || !isErrorNamed(error, 'ConditionFailedError')) throw error;
    }
  }
}
