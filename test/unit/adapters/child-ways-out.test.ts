import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { node24 } from '#test/emulators/node24';
import { tier } from '#test/runner/tier';
import { bundle, REPOSITORY } from '../../../infra/bundler.ts';
import { openChildFixture, type ChildFixture } from './child-fixture.ts';

/** What foreign code tries against its host, in a child that is its host's user in its host's network, as in a function. */
const ATTEMPTS = `
import http from 'node:http'; import http2 from 'node:http2'; import net, { connect } from 'node:net'; import tls from 'node:tls';
import dgram from 'node:dgram'; import dns, { lookup } from 'node:dns'; import { createRequire } from 'node:module';
const ended = (emitter, ok) => new Promise((done, fail) => { emitter.once(ok, () => done('reached')); emitter.once('error', fail); });
const raw = () => { const s = new net.Socket(); s.on('error', () => {}); s.connect({ host: '127.0.0.1', port: 9 }); return s._handle; };
const tries = (port, udp) => ({
  fetch: () => fetch('http://127.0.0.1:' + port + '/2018-06-01/runtime/invocation/next').then(() => 'reached'),
  http: () => ended(http.get({ host: '127.0.0.1', port }), 'response'),
  'http by name': () => ended(http.get({ host: 'localhost', port }), 'response'),
  http2: () => ended(http2.connect('http://127.0.0.1:' + port), 'connect'),
  net: () => ended(connect(port, '127.0.0.1'), 'connect'),
  'net with a lookup of its own': () => ended(net.connect({ host: 'x', port, lookup: (_h, o, d) => o.all ? d(null, [{ address: '127.0.0.1', family: 4 }]) : d(null, '127.0.0.1', 4) }), 'connect'),
  'net of require': () => ended(createRequire(import.meta.url)('net').connect(port, '127.0.0.1'), 'connect'),
  'net after deleting what was put there': () => { const of = Object.getPrototypeOf(raw()); Reflect.deleteProperty(of, 'connect'); Reflect.defineProperty(of, 'connect', { value: of.open }); return ended(net.connect(port, '127.0.0.1'), 'connect'); },
  tls: () => ended(tls.connect(port, '127.0.0.1'), 'secureConnect'),
  'a socket by path': () => ended(net.connect('/tmp/any.sock'), 'connect'),
  'a server': () => ended(net.createServer().listen(0, '127.0.0.1'), 'listening'),
  datagrams: () => new Promise((done, fail) => { const s = dgram.createSocket('udp4'); s.once('error', fail); s.send('x', udp, '127.0.0.1', (e) => e ? fail(e) : done('reached')); }),
  'names of the system': () => new Promise((done, fail) => lookup('localhost', (e) => e ? fail(e) : done('reached'))),
  'names by promise': () => dns.promises.lookup('localhost').then(() => 'reached'),
  'names of a server': () => { const r = new dns.promises.Resolver(); r.setServers(['127.0.0.1:' + udp]); return r.resolve4('a.example').then(() => 'reached'); },
  'signal to the host': () => { process.kill(process.ppid, 0); return 'reached'; },
  'signal past process.kill': () => process._kill(process.ppid, 0) === 0 ? 'reached' : Promise.reject({ code: 'refused' }),
  'signal to a group': () => { process.kill(-process.ppid, 0); return 'reached'; },
  'debugger of the host': () => { process._debugProcess(process.ppid); return 'reached'; },
  'environment of the host': async () => { (await import('node:fs')).readFileSync('/proc/' + process.ppid + '/environ'); return 'reached'; },
  'memory of the host': async () => { (await import('node:fs')).openSync('/proc/' + process.ppid + '/mem'); return 'reached'; },
  'bindings of Node': () => { process.binding('tcp_wrap'); return 'reached'; },
  'debugger of its own': async () => { new (await import('node:inspector')).Session().connect(); return 'reached'; },
});
const causes = (e) => e?.cause?.code ?? e?.errors?.[0]?.code ?? e?.code ?? String(e);
export const evaluate = async ({ port, udp }) => {
  const found = {};
  for (const [name, attempt] of Object.entries(tries(port, udp))) {
    try { found[name] = await attempt(); } catch (error) { found[name] = causes(error); }
  }
  return found;
};`;

const REFUSALS = /^(?:EACCES|EPERM|ERR_ACCESS_DENIED|refused)$/u;

interface Listener {
  readonly port: number;
  readonly udp: number;
  /** Connections and datagrams that arrived. */
  heard(): number;
  close(): Promise<void>;
}

async function listen(): Promise<Listener> {
  let heard = 0;
  const server = createServer((_request, response) => response.end('{}')).on('connection', () => (heard += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = createSocket('udp4').on('message', () => (heard += 1));
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    udp: socket.address().port,
    heard: () => heard,
    close: async () => {
      socket.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

let listener: Listener;
beforeAll(async () => {
  listener = await listen();
});
afterAll(() => listener.close());

async function reachedBy(fixture: ChildFixture): Promise<void> {
  const { port, udp } = listener;
  const report = await fixture.run(ATTEMPTS, { input: { port, udp } });
  expect(report).toMatchObject({ end: 'returned', stderr: '' });
  const found = Object.entries(report.value as Record<string, string>);
  expect(found.length).toBeGreaterThan(20);
  expect(found.filter(([, answer]) => !REFUSALS.test(answer))).toEqual([]);
  expect(listener.heard()).toBe(0);
}

describe('foreign code in a child that is not walled off by its host', () => {
  it('reaches nothing on loopback, no name, no process and no debugger', async () => {
    const fixture = await openChildFixture({ isolation: 'process' });
    await reachedBy(fixture).finally(() => fixture.close());
  });

  it('may end itself, and be told so', async () => {
    const fixture = await openChildFixture({ isolation: 'process' });
    const source =
      "export const evaluate = () => { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}); };";
    const report = await fixture.run(source).finally(() => fixture.close());
    expect(report.end).not.toBe('returned');
    expect(report.durationSeconds).toBeLessThan(15);
  });
});

tier('node24')('foreign code under the Node of deployed functions', () => {
  it('reaches nothing on loopback either', async () => {
    const fixture = await openChildFixture({
      isolation: 'process',
      node: { path: node24.program, version: node24.version },
    });
    await reachedBy(fixture).finally(() => fixture.close());
  });
});

describe('a host that has run foreign code', () => {
  it('opens no debugger when it is signalled', async () => {
    const fixture = await openChildFixture();
    const runner = await bundle(path.join(REPOSITORY, 'lambdas/shared/adapters/child-module-runner.ts'), {
      outDir: fixture.folder,
    });
    const host = path.join(fixture.folder, 'host.mjs');
    await writeFile(
      host,
      `import { url } from 'node:inspector'; import { setTimeout as pause } from 'node:timers/promises';
       import { createChildModuleRunner } from ${JSON.stringify(runner.path)};
       if (process.argv[2] === 'runs') await createChildModuleRunner({ childEntry: '/nonexistent' }).run({ modulePath: '/nonexistent' });
       process.debugPort = 0; process.kill(process.pid, 'SIGUSR1'); await pause(500); console.log(url() ?? 'none');`,
    );
    const answerOf = async (how: string): Promise<string> => {
      const child = spawn(process.execPath, [host, how], { stdio: ['ignore', 'pipe', 'ignore'] });
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
      await new Promise((resolve) => child.once('close', resolve));
      return text.trim();
    };
    const answers = [await answerOf('runs'), await answerOf('never')];
    await fixture.close();
    expect(answers).toEqual(['none', expect.stringMatching(/^ws:\/\/127\.0\.0\.1:/)]);
  });
});
