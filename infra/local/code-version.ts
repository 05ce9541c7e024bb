import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { REPOSITORY } from '../bundler.ts';

const PACKAGE = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')) as { readonly version: string };

export const EXAM_HALL_VERSION: string = PACKAGE.version;

/** Folders whose content decides what a run does. */
const CODE_FOLDERS = ['lambdas', 'state-machines', 'images/guest', 'infra/local'];

/** SHA-256 over path and content of every source file of the pipeline; the same tree gives the same hash anywhere. */
export function codeSha256(): string {
  const hash = createHash('sha256').update('examhall-code-v1\n');
  for (const folder of CODE_FOLDERS) {
    const base = path.join(REPOSITORY, folder);
    const files = readdirSync(base, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:ts|json)$/u.test(entry.name))
      .map((entry) => path.relative(REPOSITORY, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
      .sort();
    for (const file of files) {
      const content = createHash('sha256')
        .update(readFileSync(path.join(REPOSITORY, file)))
        .digest('hex');
      hash.update(`${file}\n${content}\n`);
    }
  }
  return hash.digest('hex');
}
