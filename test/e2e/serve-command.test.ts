import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endAllCli, startExamhall } from './cli-process.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'examhall-serve-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});
afterAll(async () => {
  await endAllCli();
});

interface Announced {
  readonly baseUrl: string;
  readonly principalArn: string;
  readonly tasks: number;
  readonly agents: number;
  readonly failures: readonly string[];
  readonly token?: string;
  readonly tokenFile?: string;
}

describe('examhall serve', () => {
  it('publishes what is here, keeps its token to its owner, serves, and stops on SIGINT', async () => {
    const tokenFile = path.join(folder, 'token');
    const runs = path.join(folder, 'runs');
    const server = startExamhall(['serve', runs, '--port', '0', '--json', '--token-file', tokenFile]);
    const said = JSON.parse(await server.firstLine()) as Announced;
    expect(said).toMatchObject({ failures: [], tokenFile });
    expect(said.tasks).toBeGreaterThan(0);
    expect(said.agents).toBeGreaterThan(0);
    expect(said.token).toBeUndefined();
    expect((await stat(tokenFile)).mode & 0o777).toBe(0o600);
    const token = (await readFile(tokenFile, 'utf8')).trim();
    expect(token).toMatch(/^[\w-]{43}$/u);

    const authorization = `Bearer ${token}`;
    const answered = await fetch(`${said.baseUrl}/agents`, { headers: { authorization } });
    expect(answered.status).toBe(200);
    expect(await answered.json()).toMatchObject({ items: expect.arrayContaining([expect.anything()]) as unknown });
    expect((await fetch(`${said.baseUrl}/agents`)).status).toBe(401);
    const description = await fetch(`${said.baseUrl}/openapi.json`);
    expect(await description.json()).toMatchObject({ openapi: expect.stringMatching(/^3\./u) as unknown });

    const second = await startExamhall(['serve', runs, '--port', '0']).ended;
    expect(second.code).toBe(2);
    expect(second.stderr).toContain('is running this experiment');

    process.kill(server.pid, 'SIGINT');
    const { code, stdout, stderr } = await server.ended;
    expect(code).toBe(130);
    expect(`${stdout}${stderr}`).not.toContain(token);
    expect(stderr).not.toMatch(/\bat .*:\d+:\d+/u);
    expect(existsSync(tokenFile)).toBe(false);
  });

  it('says what is wrong with its port', async () => {
    const { code, stderr } = await startExamhall(['serve', folder, '--port', '70000']).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('from 0 to 65535');
  });
});
