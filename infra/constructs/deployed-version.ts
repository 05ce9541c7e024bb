import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { REPOSITORY } from '../bundler.ts';

export interface DeployedVersion {
  readonly examhall: string;
  /** Over everything that decides what the pipeline does: the bundles and the machines. */
  readonly codeSha256: string;
}

const PackageSchema = z.object({ version: z.string().min(1) });

/** What is being deployed, as records and outputs name it; the same bundles and machines give the same. */
export function deployedVersion(functions: ReadonlyMap<string, { readonly folder: string }>): DeployedVersion {
  const hash = createHash('sha256').update('examhall-deployed-v1\n');
  const add = (name: string, file: string): void => {
    hash.update(`${name}\n${createHash('sha256').update(readFileSync(file)).digest('hex')}\n`);
  };
  for (const [name, { folder }] of [...functions].sort(([one], [other]) => (one < other ? -1 : 1))) {
    for (const file of readdirSync(folder).sort()) add(`${name}/${file}`, path.join(folder, file));
  }
  const machines = path.join(REPOSITORY, 'state-machines');
  for (const file of readdirSync(machines).sort()) if (file.endsWith('.asl.json')) add(file, path.join(machines, file));
  const { version } = PackageSchema.parse(JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')));
  return { examhall: version, codeSha256: hash.digest('hex') };
}
