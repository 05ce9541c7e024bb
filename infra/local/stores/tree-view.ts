import { createHash } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { checkObjectKey } from '#core/object-rules';
import { objectKeys } from '#core/keys';
import type { ObjectPlace, ObjectView } from './object-source.ts';

const PREFIX = objectKeys.run('', '').replace(/\/+$/u, '/');

/**
 * The run tree of this computer as objects below `runs/` of bucket `artifacts`, where the cloud has it, so that links to the
 * files of a record hold on both hosts. Read only; `list` does not know of it. Our own state and links are no part of it.
 */
export function createTreeView(treeRoot: string, sidecarDir: string): ObjectView {
  const root = path.resolve(treeRoot);
  return ({ bucket, key }) => {
    if (bucket !== 'artifacts' || !key.startsWith(PREFIX)) return undefined;
    checkObjectKey(key);
    const parts = key.slice(PREFIX.length).split('/');
    if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))) return null;
    const dataPath = path.join(root, ...parts);
    if (parts[0] === '.examhall' || !isOwnFile(root, dataPath)) return null;
    const name = createHash('sha256').update(key).digest('hex');
    return { key, dataPath, sidecarPath: path.join(sidecarDir, name) } satisfies ObjectPlace;
  };
}

function isOwnFile(root: string, file: string): boolean {
  try {
    const folder = path.join(realpathSync(root), path.relative(root, path.dirname(file)));
    return lstatSync(file).isFile() && realpathSync(path.dirname(file)) === folder;
  } catch {
    return false;
  }
}
