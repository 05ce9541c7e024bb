/** Joins path parts in a guest's own style. */
export function joinGuestPath(os: 'linux' | 'windows', ...parts: readonly string[]): string {
  const separator = os === 'windows' ? '\\' : '/';
  return parts
    .map((part, index) => (index === 0 ? part.replace(/[/\\]+$/u, '') : part.split('/').join(separator)))
    .join(separator);
}

export interface UnitPaths {
  /** `<dataRoot>/<domain>/<task>/<variant>`. */
  readonly root: string;
  readonly input: string;
  readonly software: string;
  readonly output: string;
  /** The agent's working folder. */
  readonly work: string;
}

/** Where one attempt's files lie, by upstream's convention. */
export function unitPaths(
  os: 'linux' | 'windows',
  roots: { readonly dataRoot: string; readonly workRoot: string },
  unit: {
    readonly taskPath: string;
    readonly variantName: string;
    readonly agentName: string;
    readonly runName: string;
  },
): UnitPaths {
  const root = joinGuestPath(os, roots.dataRoot, unit.taskPath, unit.variantName);
  return {
    root,
    input: joinGuestPath(os, root, 'input'),
    software: joinGuestPath(os, root, 'software'),
    output: joinGuestPath(os, root, 'output'),
    work: joinGuestPath(os, roots.workRoot, unit.agentName, unit.runName),
  };
}
