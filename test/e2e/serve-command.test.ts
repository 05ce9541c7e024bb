import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endAllCli, startExamhall, type RunningCli } from './cli-process.ts';

/** Each start publishes everything that is here. */
const TIMEOUT_MS = 120_000;

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

async function started(runs: string): Promise<{ readonly server: RunningCli; readonly said: Announced }> {
  const server = startExamhall(['serve', runs, '--port', '0', '--json']);
  return { server, said: JSON.parse(await server.firstLine()) as Announced };
}

/** How a connection to an address ends: `connected`, or the code of its error. */
async function connecting(host: string, port: number): Promise<string> {
  const socket = connect({ host, port, timeout: 5_000 });
  try {
    return await new Promise<string>((resolve) => {
      socket.once('connect', () => resolve('connected'));
      socket.once('timeout', () => resolve('timeout'));
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  } finally {
    socket.destroy();
  }
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

  it(
    'without a file for it prints its token, which is another at every start',
    async () => {
      const plain = startExamhall(['serve', path.join(folder, 'plain'), '--port', '0']);
      await plain.firstLine();
      process.kill(plain.pid, 'SIGINT');
      const [, before = ''] = /^token: (.*)$/mu.exec((await plain.ended).stdout) ?? [];
      expect(before).toMatch(/^[\w-]{43}$/u);

      const { server, said } = await started(path.join(folder, 'json'));
      const token = said.token ?? '';
      expect(token).toMatch(/^[\w-]{43}$/u);
      expect(token).not.toBe(before);
      const asked = async (given: string) =>
        (await fetch(`${said.baseUrl}/agents`, { headers: { authorization: `Bearer ${given}` } })).status;
      expect([await asked(token), await asked(before)]).toEqual([200, 401]);
      process.kill(server.pid, 'SIGINT');
      expect((await server.ended).code).toBe(130);
    },
    TIMEOUT_MS,
  );

  it(
    'listens on loopback alone: no other address of this computer is answered',
    async () => {
      const { server, said } = await started(path.join(folder, 'runs'));
      const { hostname, port } = new URL(said.baseUrl);
      expect(hostname).toBe('127.0.0.1');
      expect(await connecting('127.0.0.1', Number(port))).toBe('connected');
      // The rest of 127.0.0.0/8 is as far as a socket bound to every address would reach, where there is no other interface.
      const others = Object.values(networkInterfaces()).flatMap((addresses = []) =>
        addresses.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address),
      );
      for (const address of ['127.0.0.2', ...others]) {
        expect([address, await connecting(address, Number(port))]).not.toEqual([address, 'connected']);
      }
      process.kill(server.pid, 'SIGINT');
      await server.ended;
    },
    TIMEOUT_MS,
  );

  it('says what is wrong with its port', async () => {
    const { code, stderr } = await startExamhall(['serve', folder, '--port', '70000']).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('from 0 to 65535');
  });
});
