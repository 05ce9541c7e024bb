import type { Ports } from '#ports/ports';

/** Kept on the process, not in this module: every bundled function has a copy of the module, and they share one host. */
const REGISTRY = Symbol.for('exam-hall.ports');
const registry = globalThis as typeof globalThis & { [REGISTRY]?: Ports | undefined };

/**
 * Runs `work` with the ports of an embedded host: every handler that begins inside finds them. They are to be taken
 * before the first `await`; following them through every promise of the process would cost more than all handlers do.
 */
export function withPorts<R>(ports: Ports, work: () => R): R {
  const outer = registry[REGISTRY];
  registry[REGISTRY] = ports;
  try {
    return work();
  } finally {
    registry[REGISTRY] = outer;
  }
}

/** Ports of the embedded host at hand; undefined where none has registered any, as in a deployment. */
export function registeredPorts(): Ports | undefined {
  return registry[REGISTRY];
}
