import { expect } from 'vitest';

import { ExamHallError, type ErrorName } from '#core/errors';
import type { RowCondition, RowWrite } from '#ports/unit-store';

/** The error of ours that an action ends in. */
export async function failureOf(action: Promise<unknown>): Promise<ExamHallError> {
  const outcome = await action.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof ExamHallError) return outcome;
  throw new Error(`expected an ExamHallError, got ${String(outcome)}`, { cause: outcome });
}

/** Asserts the name and the message of that error. */
export async function expectFailure(action: Promise<unknown>, name: ErrorName, message: RegExp): Promise<void> {
  const error = await failureOf(action);
  expect(error.name).toBe(name);
  expect(error.message).toMatch(message);
}

/** A put, under no condition unless told. */
export function put(
  pk: string,
  sk: string,
  body: Readonly<Record<string, unknown>>,
  when: RowCondition = 'any',
): RowWrite {
  return { put: { pk, sk, body }, when };
}
