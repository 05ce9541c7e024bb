import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endAllCli, startExamhall } from './cli-process.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'examhall-token-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});
afterAll(async () => {
  await endAllCli();
});

const serve = (runs: string, tokenFile: string) =>
  startExamhall(['serve', path.join(folder, runs), '--port', '0', '--json', '--token-file', tokenFile]);

describe('the token file of examhall serve', () => {
  it('may not be a folder, which is told before anything starts and leaves it as it was', async () => {
    const tokenFile = path.join(folder, 'held');
    await mkdir(tokenFile);
    const { code, stdout, stderr } = await serve('runs', tokenFile).ended;
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('the token cannot be written');
    expect(stderr).toContain(`${tokenFile} is a folder`);
    expect(stderr).not.toMatch(/EISDIR|\bat .*:\d+:\d+/u);
    expect((await stat(tokenFile)).isDirectory()).toBe(true);
    expect(existsSync(path.join(folder, 'runs'))).toBe(false);
  });

  it('is left alone once another server has put its own token there', { timeout: 60_000 }, async () => {
    const tokenFile = path.join(folder, 'token');
    const server = serve('runs', tokenFile);
    await server.firstLine();
    expect(await readFile(tokenFile, 'utf8')).toMatch(/^[\w-]{43}\n$/u);
    await writeFile(tokenFile, 'of-another-server\n');
    process.kill(server.pid, 'SIGINT');
    const { code, stderr } = await server.ended;
    expect([code, await readFile(tokenFile, 'utf8')]).toEqual([130, 'of-another-server\n']);
    expect(stderr).not.toMatch(/\bat .*:\d+:\d+/u);
  });

  it('may be gone or a folder by the end: the server ends in order', { timeout: 60_000 }, async () => {
    const tokenFile = path.join(folder, 'token');
    const server = serve('runs', tokenFile);
    await server.firstLine();
    await rm(tokenFile);
    await mkdir(tokenFile);
    process.kill(server.pid, 'SIGINT');
    const { code, stderr } = await server.ended;
    expect([code, (await stat(tokenFile)).isDirectory()]).toEqual([130, true]);
    expect(stderr).not.toMatch(/EISDIR|\bat .*:\d+:\d+/u);
  });
});
