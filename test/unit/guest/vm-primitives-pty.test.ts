import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFakePtyServer, type FakePtyServer } from '#test/fakes/cua-pty';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';
import { startBridge, type Bridge } from './bridge-kit.ts';

let commands: FakeCuaServer;
let server: FakePtyServer;
let bridge: Bridge;

beforeEach(async () => {
  commands = await startFakeCuaServer();
  server = await startFakePtyServer(commands);
  bridge = await startBridge('vm-primitives', { CUA_SERVER_URL: server.url });
});
afterEach(async () => {
  await bridge.close();
  await server.close();
  await commands.close();
});

async function start(given: Record<string, unknown>): Promise<number> {
  const { text, isError } = await bridge.call('pty_start', given);
  expect(isError, text).toBe(false);
  const pid = Number(/^pid: (\d+)\n/.exec(text)?.[1]);
  expect(pid).toBeGreaterThan(0);
  return pid;
}

/** Reads until the text is there or the program has ended; line ends are the terminal's. */
async function readUntil(pid: number, wanted: string): Promise<string> {
  let all = '';
  for (let turn = 0; turn < 60; turn += 1) {
    const { text } = await bridge.call('pty_read', { pid, timeout_ms: 500 });
    all += text.replace(/(?<!\r)\n(?=\[(?:running|exited)[^\n]*\]$)/, '').replace(/\[running\]$/, '');
    if (all.includes(wanted) || text.includes('[exited')) return all;
  }
  throw new Error(`${wanted} did not come: ${JSON.stringify(all)}`);
}

describe('a terminal', () => {
  it('loses nothing of what a program writes at once, and its exit is seen with its code', async () => {
    const pid = await start({ command: "echo first; printf 'é☃'; exit 7" });
    expect(await readUntil(pid, '[exited')).toBe('first\r\né☃[exited, code 7]');
    // Once everything is read it is forgotten: at the latest with the next read.
    await bridge.call('pty_read', { pid });
    const { text, isError } = await bridge.call('pty_read', { pid });
    expect(isError).toBe(true);
    expect(text).toMatch(/no terminal/);
  });

  it('shows nothing of how it was started', async () => {
    const pid = await start({ command: 'cat' });
    await bridge.call('pty_input', { pid, data: 'typed\n' });
    await bridge.call('pty_input', { pid, data: '\u0004' });
    expect(await readUntil(pid, '[exited')).toBe('typed\r\ntyped\r\n[exited, code 0]');
  });

  it('is an interactive bash unless told otherwise, with folder, environment and quotes', async () => {
    const pid = await start({ cwd: '/tmp', env: { GREETING: "it's here" } });
    await bridge.call('pty_input', { pid, data: 'echo "$PWD:$GREETING:$((40+2))"; exit 5\n' });
    const output = await readUntil(pid, '[exited');
    expect(output).toContain("/tmp:it's here:42");
    expect(output).toContain('[exited, code 5]');
  });

  it('can be interrupted from the keyboard', async () => {
    const pid = await start({ command: "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done" });
    await readUntil(pid, 'ready');
    await bridge.call('pty_input', { pid, data: '\u0003' });
    const output = await readUntil(pid, '[exited');
    expect(output).toContain('caught');
    expect(output).toContain('[exited, code 9]');
  });

  it('takes more input than a terminal holds at once, in the order it was given', async () => {
    const pid = await start({ command: 'stty -echo; echo ready; head -n 300 | sha256sum; wc -c' });
    await readUntil(pid, 'ready');
    const line = `${'0123456789'.repeat(3)}\n`;
    await Promise.all([
      bridge.call('pty_input', { pid, data: line.repeat(200) }),
      bridge.call('pty_input', { pid, data: line.repeat(100) }),
    ]);
    const { createHash } = await import('node:crypto');
    expect(await readUntil(pid, '  -')).toContain(createHash('sha256').update(line.repeat(300)).digest('hex'));
  });

  it('keeps the newest 2 MB and says that older output is missing', async () => {
    const done = path.join(mkdtempSync(path.join(os.tmpdir(), 'examhall-pty-')), 'done');
    const pid = await start({ command: `stty -onlcr; seq 1 600000; echo the end; touch ${done}; sleep 60` });
    for (let turn = 0; turn < 800 && !existsSync(done); turn += 1) await sleep(25);
    // What is still on its way is little beside what was dropped.
    const text = await readUntil(pid, 'the end');
    expect(text.slice(0, 40)).toMatch(/^\[older output is missing\]\n\d*\n\d/);
    expect(text.slice(-40)).toMatch(/\n600000\nthe end\n*$/);
    expect(Buffer.byteLength(text)).toBeGreaterThan(1_999_000);
    expect(Buffer.byteLength(text)).toBeLessThan(3_000_000);
    rmSync(path.dirname(done), { recursive: true });
  });

  it('is killed when asked, and known no longer', async () => {
    const pid = await start({ command: 'sleep 60' });
    expect((await bridge.call('pty_resize', { pid, cols: 120, rows: 40 })).isError).toBe(false);
    expect((await bridge.call('pty_kill', { pid })).isError).toBe(false);
    expect((await bridge.call('pty_input', { pid, data: 'x' })).isError).toBe(true);
  });

  it('waits no longer for output than it is told', async () => {
    const pid = await start({ command: 'sleep 60' });
    expect((await bridge.call('pty_read', { pid, timeout_ms: 0 })).text).toBe('[running]');
    expect((await bridge.call('pty_read', { pid, timeout_ms: 50 })).text).toBe('[running]');
  });
});

describe('a stream that is cut', () => {
  it('is opened again, and the reader hears that something may be missing', async () => {
    const pid = await start({ command: 'cat' });
    server.cutStreams();
    for (let turn = 0; turn < 200 && server.streams() < 2; turn += 1) await sleep(25);
    await sleep(200);
    await bridge.call('pty_input', { pid, data: 'after\n' });
    expect(await readUntil(pid, 'after\r\nafter')).toMatch(/^\[older output is missing\]/);
  });

  it('of a program that has ended meanwhile does not hang', async () => {
    const pid = await start({ command: 'read x; exit 3' });
    server.cutStreams();
    await bridge.call('pty_input', { pid, data: '\n' });
    expect(await readUntil(pid, '[exited')).toContain('[exited, code unknown]');
  });
});

it('terminals end with the bridge', async () => {
  const pid = await start({ command: 'sleep 60' });
  await bridge.close();
  await expect
    .poll(() => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    })
    .toBe(false);
});
