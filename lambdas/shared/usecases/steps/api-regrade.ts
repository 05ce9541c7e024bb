import { ApiRefusal } from '#core/api-refusal';
import { isErrorNamed } from '#core/errors';
import type { Ports } from '#ports/ports';
import { knownUnit } from './api-units.ts';
import { startRegrade } from './regrade.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'executions' | 'digest' | 'clock'>;

/** Starts another grading of a closed unit. @throws ApiRefusal NotFoundError, StateConflictError. */
export async function regradeUnit(
  unitId: string,
  principalArn: string,
  ports: Needs,
): Promise<{ readonly unitId: string; readonly attemptId: string; readonly gradeNumber: number }> {
  const unit = await knownUnit(ports, unitId);
  try {
    return { unitId, ...(await startRegrade(ports, unit, principalArn)) };
  } catch (error) {
    if (error instanceof Error && isErrorNamed(error, 'InvalidRequestError')) {
      throw new ApiRefusal('StateConflictError', error.message);
    }
    throw error;
  }
}
