import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gradeFromReport } from '#core/evaluation';
import { LIMITS, openChildFixture, type ChildFixture } from './child-fixture.ts';

let fixture: ChildFixture;
let folders: { readonly output: string; readonly reference: string; readonly input: string };
beforeAll(async () => {
  fixture = await openChildFixture();
  const output = path.join(fixture.folder, 'data', 'output');
  folders = {
    output,
    reference: path.join(fixture.folder, 'data', 'reference'),
    input: path.join(fixture.folder, 'none'),
  };
  await mkdir(path.join(output, 'deep', 'er'), { recursive: true });
  await mkdir(folders.reference);
  await writeFile(path.join(output, 'deep', 'er', 'ünï code.txt'), 'héllo');
  await writeFile(path.join(output, 'bytes.bin'), Buffer.from([0, 255, 10]));
  await writeFile(path.join(fixture.folder, 'data', 'secret.txt'), 'secret');
  await symlink('../secret.txt', path.join(output, 'link.txt'));
  await symlink('..', path.join(output, 'up'));
  await writeFile(path.join(output, 'sparse.bin'), '');
  await truncate(path.join(output, 'sparse.bin'), 5 * 2 ** 30);
  await writeFile(path.join(output, 'large.bin'), Buffer.alloc(2 ** 20));
});
afterAll(() => fixture.close());

/** Module text whose `evaluate` gives `codeOf(f)`: the name of what f throws, else its value. */
function probing(body: string): string {
  return `const nameOf = async (f) => { try { return await f(); } catch (error) { return error.name; } };
    export const evaluate = async ({ output, reference, input, session, ...rest }) => { ${body} };`;
}

describe('a module reads the folders it was given', () => {
  it('as text, bytes, sizes and a sorted list, through any number of reads at once', async () => {
    const report = await fixture.run(
      probing(`const reads = await Promise.all(Array.from({ length: 200 }, () => output.readText('deep/er/ünï code.txt')));
        return { text: [...new Set(reads)], bytes: [...(await output.readBytes('bytes.bin'))], list: await output.list(),
          sub: await output.list('deep'), size: await output.sizeBytes('bytes.bin'), has: await output.exists('bytes.bin'),
          hasNot: await output.exists('nothing'), folder: await output.exists('deep'), absent: await input.list(), rest };`),
      { folders, input: { variantIndex: 3 } },
    );
    expect(report).toMatchObject({ end: 'returned', hostFault: null });
    expect(report.value).toEqual({
      text: ['héllo'],
      bytes: [0, 255, 10],
      list: ['bytes.bin', 'deep/er/ünï code.txt', 'large.bin', 'sparse.bin'],
      sub: ['deep/er/ünï code.txt'],
      size: 3,
      has: true,
      hasNot: false,
      folder: false,
      absent: [],
      rest: { variantIndex: 3 },
    });
  });

  it.each([
    ['../secret.txt', 'UnsafePathError'],
    ['deep/../../secret.txt', 'UnsafePathError'],
    ['/etc/passwd', 'UnsafePathError'],
    ['', 'UnsafePathError'],
    ['.', 'UnsafePathError'],
    ['deep//er', 'UnsafePathError'],
    ['a\\0b', 'UnsafePathError'],
    ['link.txt', 'UnsafePathError'],
    ['up/secret.txt', 'UnsafePathError'],
    ['deep', 'FileMissingError'],
    ['bytes.bin/x', 'FileMissingError'],
    ['sparse.bin', 'FileTooLargeError'],
  ])('but %j is refused as %s', async (file, name) => {
    const report = await fixture.run(probing(`return nameOf(() => output.readText('${file}'))`), { folders });
    expect(report).toMatchObject({ end: 'returned', value: name, hostFault: null });
  });

  it('and need not wait for reads it has begun', async () => {
    const body = `for (let i = 0; i < 40; i += 1) void output.readBytes('large.bin').catch(() => {}); return 0.5`;
    for (let round = 0; round < 5; round += 1) {
      const report = await fixture.run(probing(body), { folders });
      expect(report).toMatchObject({ end: 'returned', value: 0.5 });
    }
  });

  it('and a link counts as absent, so that a grader can score it 0', async () => {
    const report = await fixture.run(
      probing(`return [await output.exists('link.txt'), await output.exists('up/secret.txt')]`),
      { folders },
    );
    expect(report.value).toEqual([false, false]);
  });

  it('and a missing reference has a name of its own, laid to the task', async () => {
    const report = await fixture.run(probing(`return reference.readText('gone.json')`), { folders });
    expect(gradeFromReport(report)).toMatchObject({ kind: 'ungraded', reason: 'reference-missing', blame: 'task' });
  });
});

describe('what the host does', () => {
  it('gives load the paths of a variant', async () => {
    const input = { os: 'windows', dataRoot: 'E:\\agenthle', taskId: 'demo/hello' };
    const report = await fixture.run(`export const load = (context) => [context.paths('base'), context.os];`, {
      phase: 'load',
      input,
    });
    expect(report.value).toEqual([
      {
        root: 'E:\\agenthle\\demo\\hello\\base',
        input: 'E:\\agenthle\\demo\\hello\\base\\input',
        software: 'E:\\agenthle\\demo\\hello\\base\\software',
        output: 'E:\\agenthle\\demo\\hello\\base\\output',
      },
      'windows',
    ]);
  });

  it('passes session calls on, one after the other', async () => {
    const seen: unknown[] = [];
    const report = await fixture.run(
      probing(`await session.writeFile('/x/é.txt', 'é'); const text = await session.readFile('/x/é.txt');
        const result = await session.runCommand('false'); const checked = await nameOf(() => session.runCommand('false', { check: true }));
        return { text, result, checked, list: await session.listDir('/x'), shot: await nameOf(() => session.screenshot()) };`),
      {},
      async (calls) => {
        seen.push(...calls.map(({ command }) => command));
        return calls.map(({ command }) => ANSWERS[command] ?? { success: false, error: 'unknown' });
      },
    );
    expect(report.value).toEqual({
      text: 'é',
      result: { success: false, stdout: 'out', stderr: 'err', returnCode: 1 },
      checked: 'SessionCommandError',
      list: ['a', 'b'],
      shot: 'SessionUnavailableError',
    });
    expect(seen).toEqual(['write_bytes', 'read_bytes', 'run_command', 'run_command', 'list_dir', 'screenshot']);
  });

  it('opens a program on the screen, and says why it cannot', async () => {
    const asked: unknown[] = [];
    const report = await fixture.run(
      probing(`const { pid } = await session.launch('xterm', ['-e', 'true']);
        return [pid, await nameOf(() => session.launch('none'))];`),
      {},
      async ([call]) => {
        asked.push(call);
        return [
          call?.params['app'] === 'xterm' ? { success: true, pid: 77 } : { success: false, error: 'No such file' },
        ];
      },
    );
    expect(report.value).toEqual([77, 'SessionCallError']);
    expect(asked).toEqual([
      { command: 'launch', params: { app: 'xterm', args: ['-e', 'true'] } },
      { command: 'launch', params: { app: 'none', args: [] } },
    ]);
  });

  const starting = `export const start = async ({ secret, startService }) => {
    try { return await startService('page', { secret }); } catch (error) { return [error.name, error.message]; }
  };`;

  it('has a service started for the hook, with what the hook gives it', async () => {
    const asked: unknown[] = [];
    const call = { phase: 'start', input: { secret: 'abc' } };
    const report = await fixture.run(starting, call, undefined, async (name, input) => {
      asked.push(name, input);
      return { port: 4711 };
    });
    expect(report).toMatchObject({ value: { port: 4711 }, hostFault: null });
    expect(asked).toEqual(['page', { secret: 'abc' }]);
  });

  it.each([
    ['TaskSetupError', null],
    ['StagingFailedError', { name: 'StagingFailedError', message: 'why' }],
  ])(
    'tells the hook of a service that fails with %s, and owns up to what is its own fault',
    async (name, hostFault) => {
      const report = await fixture.run(starting, { phase: 'start' }, undefined, async () => {
        throw Object.assign(new Error('why'), { name });
      });
      expect(report).toMatchObject({ value: [name, 'why'], hostFault });
    },
  );

  it('offers no services where the host starts none', async () => {
    const report = await fixture.run(`export const evaluate = ({ startService }) => typeof startService;`);
    expect(report.value).toBe('undefined');
  });

  it('owns up when a session breaks, even if the grader hides it behind a score', async () => {
    const report = await fixture.run(
      probing(`try { await session.fileExists('/x'); } catch { return 0; }`),
      {},
      async () => {
        throw Object.assign(new Error('the guest is gone'), { name: 'ChannelUnavailableError' });
      },
    );
    expect(report).toMatchObject({ end: 'returned', value: 0, hostFault: { name: 'ChannelUnavailableError' } });
    expect(gradeFromReport(report)).toMatchObject({ kind: 'ungraded', reason: 'platform-fault', blame: 'platform' });
  });

  it('ends a child whose session call never answers', async () => {
    const limits = { ...LIMITS, timeoutSeconds: 2 };
    const report = await fixture.run(
      probing(`return session.fileExists('/x')`),
      { limits },
      () => new Promise(() => {}),
    );
    expect(report.end).toBe('timeout');
  });

  it('owns up when no child can be started', async () => {
    const broken = await openChildFixture({ node: { path: '/nonexistent/node', version: '20.20.0' } });
    const report = await broken.run('export const evaluate = () => 1;');
    await broken.close();
    expect(gradeFromReport(report)).toMatchObject({ kind: 'ungraded', reason: 'platform-fault', blame: 'platform' });
  });

  it('owns up when the module file is gone', async () => {
    const report = await fixture.run('', { modulePath: path.join(fixture.folder, 'gone.mjs') });
    expect(report).toMatchObject({ end: 'unavailable' });
  });

  it('runs modules without namespaces or a second account, too', async () => {
    const plain = await openChildFixture({ isolation: 'process' });
    const report = await plain.run('export const evaluate = () => ({ score: 1, note: "ok" });');
    const hung = await plain.run('export const evaluate = () => { for (;;) {} };', {
      limits: { ...LIMITS, timeoutSeconds: 1 },
    });
    await plain.close();
    expect(gradeFromReport(report)).toEqual({ kind: 'graded', score: 1, detail: { note: 'ok' } });
    expect(hung.end).toBe('timeout');
  });
});

const ANSWERS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  write_bytes: { success: true },
  read_bytes: { success: true, content_b64: Buffer.from('é').toString('base64') },
  run_command: { success: true, stdout: 'out', stderr: 'err', return_code: 1 },
  list_dir: { success: true, files: ['b', 'a'] },
};
