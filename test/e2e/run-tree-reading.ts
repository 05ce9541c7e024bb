import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A run folder of a tree: `<agent>/<model>/<task>/v<i>/<stamp>`. */
export interface RunFolder {
  readonly path: string;
  /** Folder of its unit. */
  readonly unitDir: string;
  readonly status: string | null;
  readonly hasRecord: boolean;
}

/** Every run folder below a tree root, in order of path. */
export function runFoldersOf(treeRoot: string): readonly RunFolder[] {
  const below = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => path.join(folder, entry.name))
      .sort();
  const units = below(treeRoot).flatMap(below).flatMap(below).flatMap(below);
  return units.flatMap((unitDir) =>
    below(unitDir).map((folder) => ({
      path: folder,
      unitDir,
      status: statusOf(folder),
      hasRecord: existsSync(path.join(folder, 'record.json')),
    })),
  );
}

function statusOf(folder: string): string | null {
  try {
    const run = JSON.parse(readFileSync(path.join(folder, 'run.json'), 'utf8')) as { readonly status?: string };
    return run.status ?? null;
  } catch {
    return null;
  }
}
