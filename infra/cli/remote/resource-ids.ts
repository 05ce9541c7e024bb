/** True for ids of sweeps; those of units have their sweep's, `__` and more. */
export function isSweepId(id: string): boolean {
  return !id.includes('__');
}
