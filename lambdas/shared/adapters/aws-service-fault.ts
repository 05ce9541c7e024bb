import { ExamHallError } from '#core/errors';
import { CONNECTION_NAMES, SERVICE_FAULT_NAMES, THROTTLING_NAMES } from '#core/service-faults';

/** What the SDK's own retries leave over of a service that is busy or away. */
const PASSING_NAMES: ReadonlySet<string> = new Set([...THROTTLING_NAMES, ...SERVICE_FAULT_NAMES, ...CONNECTION_NAMES]);

/** True for error names and codes of the service that may be gone at the next try. */
export function isPassingName(name: string): boolean {
  return PASSING_NAMES.has(name);
}

/**
 * Calls an AWS service. The SDK has retried already.
 * @throws StoreUnavailableError for passing trouble, which state machines retry; any other error as it came.
 */
export async function callService<R>(service: string, call: () => Promise<R>): Promise<R> {
  try {
    return await call();
  } catch (error) {
    if (!isPassing(error)) throw error;
    throw serviceUnavailable(service, `${error.name}: ${error.message}`, error);
  }
}

/** `seen` is what the service said last. */
export function serviceUnavailable(service: string, seen: string, cause?: unknown): ExamHallError {
  const message = `${service} did not take the call; the last answer was ${seen}; try again later`;
  return new ExamHallError('StoreUnavailableError', message, { service }, cause);
}

function isPassing(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (PASSING_NAMES.has(error.name) || ('$fault' in error && error.$fault === 'server')) return true;
  return 'code' in error && typeof error.code === 'string' && PASSING_NAMES.has(error.code);
}

/** True for an answer of the service with one of these names; classes differ between copies of an SDK. */
export function isAnswerNamed(error: unknown, ...names: readonly string[]): boolean {
  return error instanceof Error && names.includes(error.name);
}
