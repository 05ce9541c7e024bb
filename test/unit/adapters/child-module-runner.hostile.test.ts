import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gradeFromReport } from '#core/evaluation';
import { commandLines } from './command-lines.ts';
import { LIMITS, openChildFixture, type ChildFixture } from './child-fixture.ts';

let fixture: ChildFixture;
beforeAll(async () => {
  fixture = await openChildFixture();
});
afterAll(() => fixture.close());

const SHORT = { limits: { ...LIMITS, timeoutSeconds: 2 } };

async function gradeOf(
  source: string,
  call?: Parameters<ChildFixture['run']>[1],
): Promise<ReturnType<typeof gradeFromReport>> {
  return gradeFromReport(await fixture.run(source, call));
}

describe('an evaluate that misbehaves is ungraded and laid to the task', () => {
  it.each([
    ['hangs in a loop', 'for (;;) {}', 'grader-timeout', SHORT],
    ['never settles', 'return new Promise(() => {})', 'grader-timeout', SHORT],
    ['throws an error', 'throw new RangeError("no")', 'grader-failed', {}],
    ['throws text', 'throw "no"', 'grader-failed', {}],
    [
      'throws an object whose name getter throws',
      'throw Object.defineProperty(new Error("x"), "name", { get() { throw 1; } })',
      'grader-failed',
      {},
    ],
    ['rejects with undefined', 'return Promise.reject(undefined)', 'grader-failed', {}],
    ['exits with code 0', 'process.exit(0)', 'grader-failed', {}],
    ['kills itself', 'process.kill(process.pid, "SIGKILL"); return new Promise(() => {})', 'grader-failed', {}],
    ['aborts', 'process.abort()', 'grader-failed', {}],
    [
      'leaves a rejection behind and waits',
      'Promise.reject(new Error("x")); return new Promise(() => {})',
      'grader-failed',
      {},
    ],
    ['fills the heap', 'const a = []; for (;;) a.push({ a: a.length, b: [a.length] })', 'grader-memory', {}],
    ['fills memory beside the heap', 'const a = []; for (;;) a.push(Buffer.alloc(1 << 22, 1))', 'grader-memory', {}],
    ['returns nothing', '', 'grader-invalid-value', {}],
    ['returns NaN', 'return NaN', 'grader-invalid-value', {}],
    ['returns infinity', 'return -Infinity', 'grader-invalid-value', {}],
    ['returns 1.7', 'return 1.7', 'grader-invalid-value', {}],
    ['returns -0.2', 'return -0.2', 'grader-invalid-value', {}],
    ['returns true', 'return true', 'grader-invalid-value', {}],
    ['returns null', 'return null', 'grader-invalid-value', {}],
    ['returns a list', 'return [1]', 'grader-invalid-value', {}],
    ['returns text', 'return "1"', 'grader-invalid-value', {}],
    ['returns a BigInt', 'return 1n', 'grader-invalid-value', {}],
    ['returns a symbol', 'return Symbol("1")', 'grader-invalid-value', {}],
    ['returns a function', 'return () => 1', 'grader-invalid-value', {}],
    ['returns a cyclic object', 'const a = { score: 1 }; a.a = a; return a', 'grader-invalid-value', {}],
    ['returns a BigInt inside', 'return { score: 1, n: 1n }', 'grader-invalid-value', {}],
    ['returns NaN inside', 'return { score: NaN }', 'grader-invalid-value', {}],
    ['returns true inside', 'return { score: true }', 'grader-invalid-value', {}],
    ['returns no score', 'return { value: 1 }', 'grader-invalid-value', {}],
    ['returns a getter that throws', 'return { get score() { throw new Error("x"); } }', 'grader-invalid-value', {}],
    ['returns a thenable that throws', 'return { then() { throw new Error("x"); } }', 'grader-failed', {}],
    ['returns a huge object', 'return { score: 1, text: "x".repeat(2 * 1024 * 1024) }', 'grader-invalid-value', {}],
    [
      'writes rubbish to the result channel',
      '(await import("node:fs")).writeSync(3, "rubbish!".repeat(4)); return 1',
      'grader-invalid-value',
      {},
    ],
    [
      'sends a result without the secret',
      'const h = Buffer.from(JSON.stringify({ kind: "returned", valueKind: "json", nonce: "0".repeat(64) })); const p = Buffer.alloc(8); p.writeUInt32BE(h.length, 0); p.writeUInt32BE(1, 4); (await import("node:fs")).writeSync(3, Buffer.concat([p, h, Buffer.from("1")])); return 0.5',
      'grader-invalid-value',
      {},
    ],
    [
      'announces a message of 4 GiB',
      '(await import("node:fs")).writeSync(3, Buffer.alloc(8, 255)); return 1',
      'grader-invalid-value',
      {},
    ],
    ['closes the result channel', '(await import("node:fs")).closeSync(3); return 1', 'grader-failed', SHORT],
  ])('%s', async (_case, body, reason, call) => {
    expect(await gradeOf(`export const evaluate = async () => { ${body} };`, call)).toMatchObject({
      kind: 'ungraded',
      blame: 'task',
      reason,
    });
  });

  it.each([
    ['throws at import', 'throw new Error("at import");', 'at import'],
    ['exits at import', 'process.exit(3);', 'exit code 3'],
    ['is missing', 'export const load = () => [];', 'exports no function "evaluate"; it exports: load'],
    ['is no function', 'export const evaluate = 1;', 'exports no function'],
    ['is no JavaScript', 'export const evaluate = (;', 'SyntaxError'],
    [
      'imports a file of the host',
      'import "/etc/passwd"; export const evaluate = () => 1;',
      'Access to this API has been restricted',
    ],
  ])('%s', async (_case, source, message) => {
    const grade = await gradeOf(source);
    expect(grade).toMatchObject({ kind: 'ungraded', blame: 'task', reason: 'grader-failed' });
    expect(grade).toHaveProperty('message', expect.stringContaining(message));
  });
});

describe('a module cannot disturb its host', () => {
  it('may print 1 GiB: all is drained, little is kept', async () => {
    const before = process.memoryUsage().rss;
    const report = await fixture.run(
      `import { writeSync } from 'node:fs';
       export const evaluate = () => { const b = Buffer.alloc(1 << 20, 120); for (let i = 0; i < 1024; i += 1) for (let o = 0; o < b.length; ) o += writeSync(1, b, o); return 0.25; };`,
      { limits: { ...LIMITS, timeoutSeconds: 60 } },
    );
    expect(report).toMatchObject({ end: 'returned', value: 0.25, stdoutBytes: 2 ** 30 });
    expect(report.stdout).toHaveLength(16 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 2 ** 20);
  });

  it('has the value it returned reported, whatever it did to the language', async () => {
    const report = await fixture.run(
      `export const evaluate = async () => {
         JSON.stringify = () => '1'; JSON.parse = () => 1; globalThis.Promise = class {}; globalThis.String = () => '1';
         Number.isFinite = () => true; Buffer.from = () => 1; Buffer.byteLength = () => 0; Object.prototype.toJSON = undefined;
         process.exit = () => {}; process.stdout.write('{"score":1}\\n');
         return { score: 0.5 };
       };`,
    );
    expect(report).toMatchObject({ end: 'returned', value: { score: 0.5 } });
    expect(report.stdout).toBe('{"score":1}\n');
  });

  it('has no environment, no input, an empty folder and no way to files or processes', async () => {
    process.env['EXAMHALL_TEST_CANARY'] = 'visible';
    const report = await fixture.run(
      `const codeOf = async (f) => { try { await f(); return 'done'; } catch (e) { return e.code ?? e.name; } };
       export const evaluate = async () => {
         const fs = await import('node:fs'); const cp = await import('node:child_process');
         return { env: Object.keys(process.env).sort(), cwd: process.cwd().split('/').pop(),
           passwd: await codeOf(() => fs.readFileSync('/etc/passwd')), proc: await codeOf(() => fs.readFileSync('/proc/1/environ')),
           write: await codeOf(() => fs.writeFileSync('x', 'x')), spawn: await codeOf(() => cp.spawnSync('/bin/true')),
           worker: await codeOf(async () => new (await import('node:worker_threads')).Worker('1', { eval: true })) };
       };`,
    );
    delete process.env['EXAMHALL_TEST_CANARY'];
    expect(report.value).toEqual({
      env: ['LANG', 'TZ'],
      cwd: 'work',
      passwd: 'ERR_ACCESS_DENIED',
      proc: 'ERR_ACCESS_DENIED',
      write: 'ERR_ACCESS_DENIED',
      spawn: 'ERR_ACCESS_DENIED',
      worker: 'ERR_ACCESS_DENIED',
    });
  });

  it('leaves no process behind when its time is up', async () => {
    const marker = `marker_${String(process.pid)}_${String(Date.now())}`;
    const isRunning = (): boolean => commandLines().some((line) => line.includes(marker));
    let wasSeen = false;
    const watch = setInterval(() => (wasSeen ||= isRunning()), 100);
    const report = await fixture.run(
      `process.title = '${marker}'; export const evaluate = () => { for (;;) {} };`,
      SHORT,
    );
    clearInterval(watch);
    expect([report.end, wasSeen, isRunning()]).toEqual(['timeout', true, false]);
  });
});
