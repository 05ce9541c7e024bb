import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentManifestKey, PublishedAgentSchema } from '#core/catalog';
import { findAgentFolder, findTaskFolder, listAgentIds, listTaskIds } from '#local/publish/find-folders';
import { publishAgent } from '#local/publish/publish-agent';
import { openPublishFixture, type PublishFixture } from './publish-fixture.ts';

let fixture: PublishFixture;
beforeEach(async () => {
  fixture = await openPublishFixture();
});
afterEach(() => fixture.close());

const MANIFEST = {
  id: 'walker',
  version: '1.0.0',
  harness: 'walker',
  description: 'Walks.',
  executor: 'sandbox',
  runtime: { node: '20' },
  recordings: true,
  launch: 'launch.ts',
  parser: 'parser.ts',
};
const RECORDING = { version: 1, task: 'demo/hello', steps: [{ run: 'true' }] };

async function writeAgent(changes: Readonly<Record<string, string>> = {}): Promise<string> {
  const files = {
    'agent.json': JSON.stringify(MANIFEST),
    'launch.ts': `import { sep } from 'node:path'; console.log(sep);`,
    'parser.ts': `import type { TrajectoryDraft } from '#sdk'; export const parse = (): TrajectoryDraft => ({ steps: [] });`,
    'demo__hello.json': JSON.stringify(RECORDING),
    ...changes,
  };
  await fixture.write(Object.fromEntries(Object.entries(files).map(([name, text]) => [`agents/walker/${name}`, text])));
  return path.join(fixture.folder, 'agents', 'walker');
}

describe('an agent that is published', () => {
  it('lies under its revision with its modules and recordings, once', async () => {
    const folder = await writeAgent();
    const agent = await publishAgent(folder, fixture.deps);
    const prefix = `tasks/agents/walker/${agent.revision.slice('sha256:'.length)}`;
    expect(await publishAgent(folder, fixture.deps)).toEqual(agent);
    expect([...fixture.writes()].sort()).toEqual([
      `${prefix}/files/launch.mjs`,
      `${prefix}/files/parser.mjs`,
      `${prefix}/files/recordings/demo__hello.json`,
      `${prefix}/manifest.json`,
    ]);
    const text = await fixture.text({ bucket: 'tasks', key: agentManifestKey(agent) });
    expect(PublishedAgentSchema.parse(JSON.parse(text))).toEqual(agent);
    expect(agent.recordings['demo/hello']?.path).toBe('demo__hello.json');
  });

  it.each([
    ['agent.json', JSON.stringify({ ...MANIFEST, version: '1.0.1' })],
    ['launch.ts', 'console.log(1);'],
    ['parser.ts', 'export const parse = () => ({ steps: [1] });'],
    ['demo__hello.json', JSON.stringify({ ...RECORDING, steps: [{ run: 'false' }] })],
  ])('has another revision when %s changes', async (name, text) => {
    const first = await publishAgent(await writeAgent(), fixture.deps);
    const second = await publishAgent(await writeAgent({ [name]: text }), fixture.deps);
    expect(second.revision).not.toBe(first.revision);
  });
});

describe('an agent that is not right', () => {
  it.each([
    [{ 'agent.json': '{}' }, 'agent.json: id: '],
    [{ 'agent.json': '{' }, 'agent.json is no JSON'],
    [
      { 'agent.json': JSON.stringify({ ...MANIFEST, id: 'runner' }) },
      'id is "runner"; it must be its folder\'s name, "walker"',
    ],
    [{ 'agent.json': JSON.stringify({ ...MANIFEST, launch: 'gone.ts' }) }, 'gone.ts does not exist'],
    [{ 'launch.ts': `import 'esbuild';` }, 'launch.ts:1: imports "esbuild"; allowed: #sdk'],
    [{ 'parser.ts': `import 'node:fs'; export const parse = 1;` }, 'parser.ts:1: imports "node:fs"; allowed: #sdk'],
    [{ 'parser.ts': 'export const read = 1;' }, 'parser.ts exports read; it must export a function parse'],
    [{ 'demo__hello.json': '{"version":2}' }, 'demo__hello.json: version: '],
    [{ 'demo__other.json': JSON.stringify(RECORDING) }, 'a recording of it must be named demo__hello.json'],
  ])('%j is refused with its place and reason', async (changes, message) => {
    const failure = publishAgent(await writeAgent(changes), fixture.deps);
    await expect(failure).rejects.toMatchObject({ name: 'InvalidRequestError', blame: 'caller' });
    await expect(failure).rejects.toThrow(message);
    expect(fixture.writes()).toEqual([]);
  });
});

describe('a folder of agents or tasks', () => {
  it('lists what lies in it and nothing else', async () => {
    const task = await fixture.writeTask();
    await fixture.write({ 'demo/_shared/x.ts': '', 'lists/all.txt': '', 'demo/README.md': '' });
    await writeAgent();
    expect(await listTaskIds(fixture.folder)).toEqual(['demo/hello']);
    expect(await listAgentIds(path.join(fixture.folder, 'agents'))).toEqual(['walker']);
    expect(await findTaskFolder(fixture.folder, 'demo/hello')).toBe(task);
    expect(await listTaskIds(path.join(fixture.folder, 'nowhere'))).toEqual([]);
  });

  it('names what is near to an unknown name', async () => {
    await fixture.writeTask();
    const agents = path.dirname(await writeAgent());
    await expect(findTaskFolder(fixture.folder, 'demo/helo')).rejects.toMatchObject({
      name: 'UnknownTaskError',
      message: `${fixture.folder} has no task "demo/helo" (did you mean "demo/hello"?); allowed: "demo/hello"`,
    });
    await expect(findTaskFolder(fixture.folder, 'other_domain/hello')).rejects.toThrow('did you mean "demo/hello"?');
    await expect(findTaskFolder(fixture.folder, '../demo/hello')).rejects.toMatchObject({ name: 'UnknownTaskError' });
    await expect(findAgentFolder(agents, 'wlaker')).rejects.toMatchObject({
      name: 'UnknownAgentError',
      message: `${agents} has no agent "wlaker" (did you mean "walker"?); allowed: "walker"`,
    });
    await expect(findAgentFolder(agents, 'quite-different')).rejects.toThrow(
      'has no agent "quite-different"; allowed: "walker"',
    );
  });
});
