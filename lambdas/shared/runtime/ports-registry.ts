import { ExamHallError } from '#core/errors';
import type { Ports } from '#ports/ports';

let current: Ports | undefined;

/**
 * Runs `work` with the ports of an embedded host: every handler that begins inside finds them. They are to be taken
 * before the first `await`; following them through every promise of the process would cost more than all handlers do.
 */
export function withPorts<R>(ports: Ports, work: () => R): R {
  const outer = current;
  current = ports;
  try {
    return work();
  } finally {
    current = outer;
  }
}

/** Ports of the host at hand. @throws EnvironmentInvalidError when none has registered any. */
export function currentPorts(): Ports {
  if (current !== undefined) return current;
  throw new ExamHallError(
    'EnvironmentInvalidError',
    'no host has registered its ports; run handlers through the embedded host (deployment to AWS composes its own)',
  );
}
