import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import { bundleFunctions, type FunctionBundle } from '../../infra/bundler-functions.ts';
import { REPOSITORY } from '../../infra/bundler.ts';
import { startGradingStore } from './graded-over-http.ts';
import { invokeBundle } from './invoke-bundle.ts';

const run = promisify(execFile);

/** Parts of the house and packages that no deployed function may carry. */
const KEPT_OUT =
  /(?:^|\/)(?:esbuild|libsql|jsonata|aws-cdk-lib|constructs|busboy|commander|tsx|vitest)\/|^(?:infra|test)\//u;
/** A function is loaded within the time of its first call; larger ones start late. */
const MAX_BUNDLE_BYTES = 3 * 1024 * 1024;
const TIMEOUT_MS = 120_000;

let root: string;
let bundles: ReadonlyMap<string, FunctionBundle>;

beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'examhall-bundles-'));
  bundles = await bundleFunctions(path.join(root, 'a'));
}, TIMEOUT_MS);
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

async function hashesOf(folder: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const hashes = await Promise.all(
    files.sort().map(async (file) => {
      const hash = createHash('sha256')
        .update(await readFile(file))
        .digest('hex');
      return [path.relative(folder, file), hash] as const;
    }),
  );
  return Object.fromEntries(hashes);
}

describe('the bundles of the functions', () => {
  it('are one folder per declared function, with a child entry exactly where published modules run, and what goes onto machines where sandboxes are launched', async () => {
    expect([...bundles.keys()]).toEqual(FUNCTIONS.map(({ name }) => name));
    expect(bundles.size).toBeGreaterThan(20);
    for (const { name, needs } of FUNCTIONS) {
      const files = await readdir(bundles.get(name)?.folder ?? '');
      const runsModules = needs.some(({ port }) => port === 'modules');
      const launches = needs.some((need) => need.port === 'sandboxes' && need.access === 'launch');
      const beside = [
        ...(launches ? ['boot.tar.gz', 'cua-desktop.mjs', 'runner.mjs'] : []),
        ...(runsModules ? ['child-entry.mjs'] : []),
      ];
      expect([name, files.sort()]).toEqual([name, [...beside, 'index.mjs'].sort()]);
    }
  });

  it(
    'have the same bytes when made again in another folder',
    async () => {
      await bundleFunctions(path.join(root, 'another', 'folder'));
      const first = await hashesOf(path.join(root, 'a'));
      expect(Object.keys(first).length).toBeGreaterThan(bundles.size);
      expect(await hashesOf(path.join(root, 'another', 'folder'))).toEqual(first);
    },
    TIMEOUT_MS,
  );

  it(
    'each load under plain Node with nothing around them, and export a handler',
    async () => {
      const files = [...bundles.values()].map(({ folder }) => path.join(folder, 'index.mjs'));
      const script = `for (const file of ${JSON.stringify(files)}) {
      const { handler } = await import(file);
      if (typeof handler !== 'function') throw new Error(file + ' exports no handler');
    }`;
      const options = { cwd: root, env: {}, timeout: TIMEOUT_MS };
      await run(process.execPath, ['--input-type=module', '-e', script], options);
    },
    TIMEOUT_MS,
  );

  it('hold nothing of this machine, and no other function', async () => {
    const names = FUNCTIONS.map(({ entry }) => entry);
    const machine = [REPOSITORY, root, os.homedir()].filter((text) => text.length > 1);
    for (const { name, folder, sources } of bundles.values()) {
      const text = await readFile(path.join(folder, 'index.mjs'), 'utf8');
      expect([name, machine.filter((each) => text.includes(each))]).toEqual([name, []]);
      expect(sources.filter((source) => names.includes(source))).toEqual([`lambdas/${name}/handler.ts`]);
    }
  });

  it('leave out what runs only on one computer, and stay small', () => {
    for (const { name, sources, sizeBytes } of bundles.values()) {
      expect([name, sources.filter((source) => KEPT_OUT.test(source))]).toEqual([name, []]);
      expect([name, sizeBytes < MAX_BUNDLE_BYTES]).toEqual([name, true]);
    }
  });
});

describe('a bundle that is called', () => {
  const folderOf = (name: string): string => bundles.get(name)?.folder ?? '';

  it(
    'grades in a child process with the entry beside it, without any credential',
    async () => {
      const module = `export const evaluate = async ({ output }) => (await output.readText('answer.txt') === '42' ? 1 : 0);`;
      const store = await startGradingStore(module, { 'answer.txt': '42' });
      try {
        const event = { gradeId: 'g', timeoutSeconds: 30, stageUrl: store.stageUrl };
        const env = { EXAMHALL_CODE_SHA256: 'c'.repeat(64), AWS_REGION: 'us-east-1' };
        const { answer, log } = await invokeBundle(folderOf('run-grader'), event, env);
        expect([answer, log.map(({ event: name }) => name)]).toEqual([null, ['function.started', 'function.finished']]);
        expect(store.uploads).toHaveLength(1);
        expect(store.uploads[0]).toContain('"end":"returned"');
        expect(store.uploads[0]).toContain('"value":1');
      } finally {
        await store.stop();
      }
    },
    TIMEOUT_MS,
  );

  it(
    'says which variables it lacks, and which it should not have',
    async () => {
      const { errorName, message } = await invokeBundle(folderOf('close-unit'), {}, { EXAMHALL_EVENT_BUS: 'x' });
      expect(errorName).toBe('EnvironmentInvalidError');
      expect(message).toMatch(/close-unit.*EXAMHALL_CODE_SHA256.*EXAMHALL_TABLE.*EXAMHALL_EVENT_BUS/u);
    },
    TIMEOUT_MS,
  );
});
