import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createChildModuleRunner } from '#adapters/child-module-runner';
import { InMemoryArtifactStore } from '#test/fakes/artifact-store';
import type { ObjectRef } from '#ports/artifact-store';
import type { ModuleRunner } from '#ports/module-runner';
import { bundle, REPOSITORY } from '../../../infra/bundler.ts';

/** A folder outside the repository, with what publishing needs. */
export interface PublishFixture {
  readonly folder: string;
  readonly deps: { readonly store: InMemoryArtifactStore; readonly runner: ModuleRunner; readonly cacheDir: string };
  /** Writes files below the folder. */
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** Files of a small right task `demo/hello`, with changes; null leaves a file out. */
  writeTask(changes?: Readonly<Record<string, string | null>>): Promise<string>;
  /** `<bucket>/<key>` of every write tried, in order. */
  writes(): readonly string[];
  text(ref: ObjectRef): Promise<string>;
  close(): Promise<void>;
}

const TASK: Readonly<Record<string, string>> = {
  'task_card.json': '{ "title": "Hello", "vm": { "snapshot": "cpu-free-ubuntu", "timeout": 600 } }',
  'task.ts': `import type { LoadContext, EvaluateContext } from '#sdk';
export const load = ({ paths }: LoadContext) => ['a', 'b'].map((name) => ({ name, prompt: 'Write to ' + paths(name).output, metadata: { name } }));
export const start = () => undefined;
export const evaluate = async ({ output, reference }: EvaluateContext) => Number((await output.readText('x.txt')) === (await reference.readText('x.txt')));`,
  'solution.ts': `import { writeFileSync } from 'node:fs'; writeFileSync('output/x.txt', 'canary-solution');`,
  'input/a/deep/in put.txt': 'in a',
  'input/b/x.txt': 'in b',
  'software/a/tool.sh': 'exit 0',
  'reference/a/x.txt': 'canary-reference-a',
  'reference/b/x.txt': 'canary-reference-b',
  'solution/b/solve.sh': 'echo canary-solution-b',
  'wrong/a/case/x.txt': 'canary-wrong',
};

export async function openPublishFixture(): Promise<PublishFixture> {
  const folder = await mkdtemp(path.join(tmpdir(), 'examhall-publish-'));
  const cacheDir = path.join(folder, '.cache');
  const childEntry = await bundle(path.join(REPOSITORY, 'lambdas/shared/adapters/child-entry.ts'), {
    outDir: cacheDir,
  });
  const store = new InMemoryArtifactStore();
  const write = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), text);
    }
  };
  return {
    folder,
    deps: {
      store,
      runner: createChildModuleRunner({ childEntry: childEntry.path }),
      cacheDir,
    },
    write,
    writeTask: async (changes = {}) => {
      await rm(path.join(folder, 'demo'), { recursive: true, force: true });
      const files = Object.entries({ ...TASK, ...changes }).filter(
        (file): file is [string, string] => file[1] !== null,
      );
      await write(Object.fromEntries(files.map(([name, text]) => [`demo/hello/${name}`, text])));
      return path.join(folder, 'demo', 'hello');
    },
    writes: () =>
      store.calls
        .filter(({ operation }) => operation === 'put' || operation === 'putFile')
        .map(({ ref }) => `${ref.bucket}/${ref.key}`),
    text: async (ref) => new TextDecoder().decode(await store.get(ref)),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
