import { createChildModuleRunner } from '#adapters/child-module-runner';
import type { ModuleRunner } from '#ports/module-runner';

/** The runner of published modules for a host that has bundled `#adapters/child-entry` into one file. */
export function composeModuleRunner(childEntry: string): ModuleRunner {
  return createChildModuleRunner({ childEntry });
}
