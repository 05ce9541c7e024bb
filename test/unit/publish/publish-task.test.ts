import { chmod, cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  PublishedReferencesSchema,
  PublishedSolutionsSchema,
  PublishedTaskSchema,
  solutionsKey,
  taskManifestKey,
} from '#core/catalog';
import { publishTask } from '#local/publish/publish-task';
import { openPublishFixture, type PublishFixture } from './publish-fixture.ts';

let fixture: PublishFixture;
beforeEach(async () => {
  fixture = await openPublishFixture();
});
afterEach(() => fixture.close());

const publish = async (folder: string): ReturnType<typeof publishTask> => publishTask(folder, fixture.deps);

describe('a task that is published', () => {
  it('lies under its revision, what agents may see apart from what they may not', async () => {
    const task = await publish(await fixture.writeTask());
    const prefix = `tasks/demo/hello/${task.revision.slice('sha256:'.length)}`;
    expect([...fixture.writes()].sort()).toEqual(
      [
        `references/${prefix}/files/a/reference/x.txt`,
        `references/${prefix}/files/b/reference/x.txt`,
        `references/${prefix}/manifest.json`,
        `tasks/solutions/${prefix.slice('tasks/'.length)}/files/b/solution/solve.sh`,
        `tasks/solutions/${prefix.slice('tasks/'.length)}/solutions.json`,
        `tasks/solutions/${prefix.slice('tasks/'.length)}/files/solve.mjs`,
        `tasks/${prefix}/files/a/input/deep/in put.txt`,
        `tasks/${prefix}/files/a/software/tool.sh`,
        `tasks/${prefix}/files/b/input/x.txt`,
        `tasks/${prefix}/manifest.json`,
        `tasks/${prefix}/files/task.mjs`,
      ].sort(),
    );
    expect(fixture.writes().at(-1)).toBe(`tasks/${prefix}/manifest.json`);
  });

  it('has its services compiled, with what they import from the task’s folder, and refuses others', async () => {
    const folder = await fixture.writeTask({
      'code.ts': `export const code = 'shared-code';`,
      'services/page.ts': `import { createServer } from 'node:http'; import { code } from '../code.ts'; console.log(code, createServer);`,
      'services/parts/deep.ts': 'export {};',
    });
    const task = await publish(folder);
    expect(Object.keys(task.services)).toEqual(['page']);
    const { key = '' } = task.services['page'] ?? {};
    expect(key).toMatch(/\/services\/page\.mjs$/u);
    expect(await fixture.text({ bucket: 'tasks', key })).toContain('shared-code');
    const before = task.revision;
    await fixture.write({ 'demo/hello/code.ts': `export const code = 'other';` });
    expect((await publish(folder)).revision).not.toBe(before);
    await fixture.write({ 'demo/hello/services/page.ts': `import '../../../outside.ts';`, 'outside.ts': '' });
    await expect(publish(folder)).rejects.toThrow(/allowed: #sdk/u);
    await fixture.write({ 'demo/hello/services/page.ts': '', 'demo/hello/services/Bad_Name.ts': '' });
    await expect(publish(folder)).rejects.toThrow(/Bad_Name\.ts: a service is named by/u);
  });

  it('has nothing of references, solutions and wrong outputs where any step but the stager may read', async () => {
    await publish(await fixture.writeTask());
    const written = fixture.writes().filter((name) => name.startsWith('tasks/'));
    const open = written.filter((name) => !name.startsWith('tasks/solutions/'));
    expect(open.length).toBeLessThan(written.length);
    expect(open.length).toBeGreaterThan(0);
    for (const name of open) {
      expect(await fixture.text({ bucket: 'tasks', key: name.slice('tasks/'.length) })).not.toContain('canary');
    }
  });

  it('is described by manifests that fit their schemas', async () => {
    const task = await publish(await fixture.writeTask());
    const key = taskManifestKey(task);
    expect(PublishedTaskSchema.parse(JSON.parse(await fixture.text({ bucket: 'tasks', key })))).toEqual(task);
    expect(task).toMatchObject({
      taskId: 'demo/hello',
      hasStart: true,
      card: { title: 'Hello' },
      variants: [
        {
          name: 'a',
          index: 0,
          prompt: 'Write to /media/user/data/agenthle/demo/hello/a/output',
          metadata: { name: 'a' },
          input: [{ path: 'deep/in put.txt', sizeBytes: 4, executable: false }],
          software: [{ path: 'tool.sh' }],
          hasReference: true,
          hasSolution: true,
        },
        { name: 'b', index: 1, software: [] },
      ],
    });
    const references = PublishedReferencesSchema.parse(JSON.parse(await fixture.text({ bucket: 'references', key })));
    expect(references.variants).toMatchObject([
      { name: 'a', reference: [{ path: 'x.txt' }] },
      { name: 'b', reference: [{ path: 'x.txt' }] },
    ]);
    const solutions = await fixture.text({ bucket: 'tasks', key: solutionsKey(task) });
    expect(PublishedSolutionsSchema.parse(JSON.parse(solutions)).variants).toMatchObject([
      { name: 'a', solution: [{ path: 'solve.mjs' }] },
      { name: 'b', solution: [{ path: 'solve.sh' }] },
    ]);
  });

  it('is not uploaded a second time, also from another folder', async () => {
    const folder = await fixture.writeTask();
    const first = await publish(folder);
    const written = fixture.writes().length;
    expect(await publish(folder)).toEqual(first);
    const copy = path.join(fixture.folder, 'elsewhere', 'demo', 'hello');
    await cp(folder, copy, { recursive: true });
    await mkdir(path.join(copy, 'node_modules'));
    await writeFile(path.join(copy, 'node_modules', 'cache.txt'), 'no part of the task');
    expect(await publish(copy)).toEqual(first);
    expect(fixture.writes()).toHaveLength(written);
  });

  it('goes on where it was broken off', async () => {
    const folder = await fixture.writeTask();
    const { store } = fixture.deps;
    const whole = store.putFile.bind(store);
    let left = 4;
    store.putFile = async (...given) => {
      left -= 1;
      if (left < 0) throw new Error('the line is cut');
      return whole(...given);
    };
    await expect(publish(folder)).rejects.toThrow('the line is cut');
    expect(fixture.writes().filter((name) => name.endsWith('manifest.json'))).toEqual([]);
    store.putFile = whole;
    await publish(folder);
    expect(new Set(fixture.writes()).size).toBe(fixture.writes().length);
    expect(fixture.writes()).toHaveLength(11);
  });

  it.each([
    ['input/a/deep/in put.txt', 'other'],
    ['reference/b/x.txt', 'other'],
    ['wrong/a/case/x.txt', 'other'],
    ['solution.ts', 'export {};'],
    ['README.md', 'new'],
  ])('has another revision when %s changes', async (name, text) => {
    const first = await publish(await fixture.writeTask());
    const second = await publish(await fixture.writeTask({ [name]: text }));
    expect(second.revision).not.toBe(first.revision);
  });

  it('has another revision when a file becomes executable', async () => {
    const folder = await fixture.writeTask();
    const first = await publish(folder);
    await chmod(path.join(folder, 'software/a/tool.sh'), 0o755);
    const second = await publish(folder);
    expect(second.revision).not.toBe(first.revision);
    expect(second.variants[0]?.software[0]?.executable).toBe(true);
  });

  it('is not put over an object with other bytes', async () => {
    const folder = await fixture.writeTask();
    const task = await publish(folder);
    const ref = { bucket: 'tasks', key: task.module.key } as const;
    await fixture.deps.store.put(ref, 'tampered');
    await expect(publish(folder)).rejects.toMatchObject({ name: 'ChecksumMismatchError' });
  });
});

describe('a task that is not right', () => {
  it.each([
    ['without a card', { 'task_card.json': null }, 'TaskCardError', 'task_card.json cannot be read: ENOENT'],
    ['with a card that is no JSON', { 'task_card.json': '{' }, 'TaskCardError', 'task_card.json is no JSON'],
    [
      'with a card that is a list',
      { 'task_card.json': '[]' },
      'TaskCardError',
      'task_card.json: the file: Invalid input',
    ],
    ['with a wrong card', { 'task_card.json': '{"vm":{"timeout":-1}}' }, 'TaskCardError', 'task_card.json:1:1'],
    ['without a module', { 'task.ts': null }, 'TaskLoadError', 'task.ts does not exist'],
    [
      'that does not parse',
      { 'task.ts': 'export const load = (' },
      'TaskLoadError',
      'task.ts:1: Unexpected end of file',
    ],
    [
      'that reads files',
      { 'task.ts': `import 'node:fs';` },
      'TaskLoadError',
      'task.ts:1: imports "node:fs"; allowed: #sdk',
    ],
    [
      'without evaluate',
      { 'task.ts': 'export const load = () => [];' },
      'TaskLoadError',
      'must export evaluate; it exports load',
    ],
    [
      'whose load throws',
      { 'task.ts': moduleWith('throw new Error("broken")') },
      'TaskLoadError',
      'load ended as "threw": Error: broken',
    ],
    ['whose load exits', { 'task.ts': moduleWith('process.exit(0)') }, 'TaskLoadError', 'load ended as "exited"'],
    ['without variants', { 'task.ts': moduleWith('return []') }, 'TaskLoadError', 'must hold at least one variant'],
    [
      'with a variant twice',
      { 'task.ts': moduleWith(`return [1, 2].map(() => ({ name: 'a', prompt: 'p' }))`) },
      'TaskLoadError',
      'has a name twice',
    ],
    [
      'with a bad variant name',
      { 'task.ts': moduleWith(`return [{ name: '../a', prompt: 'p' }]`) },
      'TaskLoadError',
      '0.name: must be a folder name',
    ],
    [
      'without a prompt',
      { 'task.ts': moduleWith(`return [{ name: 'a', prompt: '' }]`) },
      'TaskLoadError',
      '0.prompt: must be the instruction',
    ],
    [
      'with files of no variant',
      { 'input/c/x.txt': '' },
      'TaskLoadError',
      'input/c/x.txt belongs to no variant; load names a, b',
    ],
  ])('%s is refused with its place and reason', async (_case, changes, name, message) => {
    const folder = await fixture.writeTask(changes);
    const failure = publish(folder);
    await expect(failure).rejects.toMatchObject({ name });
    await expect(failure).rejects.toThrow(message);
    expect(fixture.writes()).toEqual([]);
  });

  it('with a link among its files is refused', async () => {
    const folder = await fixture.writeTask();
    await rm(path.join(folder, 'input/b/x.txt'));
    await symlink('/etc/passwd', path.join(folder, 'input/b/x.txt'));
    await expect(publish(folder)).rejects.toThrow(
      'input/b/x.txt is a link to /etc/passwd; only regular files are published',
    );
  });

  it('in a folder whose name is no id is refused', async () => {
    const folder = path.join(fixture.folder, 'Demo', 'hello');
    await mkdir(folder, { recursive: true });
    await expect(publish(folder)).rejects.toThrow('"Demo/hello" is no task id; a task lies in <domain>/<task>');
  });
});

function moduleWith(load: string): string {
  return `export const load = (): unknown => { ${load}; }; export const evaluate = () => 0;`;
}
