/** What a child process does to a run tree and a workspace on a disk in trouble: `node --import tsx tree-probe.ts <action> <folder>`. */
import { createServer } from 'node:http';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createDiskRunTree } from '#local/run-tree';
import { createDiskWorkspace } from '#local/workspace';
import { InMemoryArtifactStore } from '#test/fakes/artifact-store';

const [action = '', folder = ''] = process.argv.slice(2);
const tree = createDiskRunTree(path.join(folder, 'tree'), new InMemoryArtifactStore());
const RUN = 'agent/model/task/v0/20260102_030405';
const LARGE = 'x'.repeat(4 * 1024 * 1024);

async function say(work: () => unknown): Promise<void> {
  let line: unknown;
  try {
    line = (await work()) ?? 'done';
  } catch (error) {
    line = error instanceof Error ? error.name : String(error);
  }
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function downloadLarge(): Promise<void> {
  const server = createServer((_, response) => response.end(LARGE));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}/large`;
  const target = path.join(folder, 'download');
  try {
    await createDiskWorkspace(path.join(folder, 'scratch')).download(url, target, null);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const actions: Readonly<Record<string, () => Promise<void>>> = {
  fill: async () => {
    await say(async () => await tree.write(RUN, 'run.json', 'old'));
    await say(async () => await tree.write(RUN, 'run.json', LARGE));
    await say(() => readFileSync(path.join(folder, 'tree', RUN, 'run.json'), 'utf8'));
    await say(async () => await downloadLarge());
    await say(async () => await tree.appendEvent(RUN, '{"n":1}'));
    await say(async () => await tree.appendEvent(RUN, LARGE));
    await say(() => readFileSync(path.join(folder, 'tree', RUN, 'events.jsonl'), 'utf8'));
    await say(() => [readdirSync(folder).sort(), readdirSync(path.join(folder, 'tree', RUN)).sort()]);
    await say(async () => await tree.write(RUN, 'eval_result.json', 'fits'));
  },
  'read-only': async () => {
    await say(async () => await tree.open('agent/model/task/v1', '20260102_030405'));
    await say(async () => await tree.write(RUN, 'run.json', 'new'));
    await say(async () => await tree.appendEvent(RUN, '{}'));
    await say(async () => await tree.makeDir(RUN, 'output'));
    await say(async () => (await tree.list(RUN)).map((file) => file.path));
  },
  prepare: async () => {
    mkdirSync(path.join(folder, 'tree', RUN), { recursive: true });
    await say(async () => await tree.write(RUN, 'run.json', 'old'));
  },
};

await actions[action]?.();
