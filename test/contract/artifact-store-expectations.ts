import { expect } from 'vitest';

import { ExamHallError, type ErrorName } from '#core/errors';
import type { ArtifactStore } from '#ports/artifact-store';

/** A store under test and the way to let time pass for its signatures. */
export interface ArtifactHarness {
  readonly store: ArtifactStore;
  pass(seconds: number): Promise<void>;
}

/** Asserts the name of the error an action ends in, and gives it. */
export async function expectObjectError(action: Promise<unknown>, name: ErrorName): Promise<ExamHallError> {
  const outcome = await action.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(ExamHallError);
  expect(outcome).toMatchObject({ name });
  return outcome as ExamHallError;
}
