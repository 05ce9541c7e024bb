import { AsyncLocalStorage } from 'node:async_hooks';
import { ExamHallError } from '#core/errors';
import type { Ports } from '#ports/ports';

const current = new AsyncLocalStorage<Ports>();

/** Runs `work` with the ports of an embedded host; every handler called inside finds them. */
export function withPorts<R>(ports: Ports, work: () => R): R {
  return current.run(ports, work);
}

/** Ports of the host at hand. @throws EnvironmentInvalidError when none has registered any. */
export function currentPorts(): Ports {
  const ports = current.getStore();
  if (ports === undefined) {
    throw new ExamHallError(
      'EnvironmentInvalidError',
      'no host has registered its ports; run handlers through the embedded host (deployment to AWS composes its own)',
    );
  }
  return ports;
}
