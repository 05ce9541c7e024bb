import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';
import { startBridge, type Bridge, type BridgeAnswer } from './bridge-kit.ts';

let clipboard = '';
let server: FakeCuaServer;
let bridge: Bridge;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-primitives-'));
  server = await startFakeCuaServer({
    handlers: {
      copy_to_clipboard: () => ({ content: clipboard }),
      set_clipboard: ({ text }) => {
        clipboard = String(text);
        return {};
      },
    },
  });
  bridge = await startBridge('vm-primitives', { CUA_SERVER_URL: server.url });
});
afterAll(async () => {
  await bridge.close();
  await server.close();
  rmSync(folder, { recursive: true });
});

const inFolder = (name: string): string => path.join(folder, name);
const ok = async (tool: string, given: Record<string, unknown> = {}): Promise<BridgeAnswer> => {
  const answer = await bridge.call(tool, given);
  expect(answer.isError, answer.text).toBe(false);
  return answer;
};

describe('run_command', () => {
  it('gives exit code and both outputs, as text and as data', async () => {
    const answer = await ok('run_command', { command: 'echo out; echo err >&2; exit 3' });
    expect(answer.structured).toEqual({ exit_code: 3, stdout: 'out\n', stderr: 'err\n' });
    expect(answer.text).toBe('exit_code: 3\nstdout:\nout\n\nstderr:\nerr\n');
  });

  it('gives the bytes of other encodings without failing', async () => {
    const answer = await ok('run_command', { command: "printf 'a\\377b'" });
    expect(answer.structured).toMatchObject({ exit_code: 0, stdout: 'a\ufffdb' });
  });

  it('cuts what is too long for an answer, and says so', async () => {
    const answer = await ok('run_command', { command: 'seq 1 400000' });
    expect((answer.structured as { stdout: string }).stdout).toMatch(/^1\n2\n/);
    expect(answer.text).toMatch(/\[cut after 1000000 bytes.*file/);
  });

  it('says that the time was over, with what came until then', async () => {
    const answer = await bridge.call('run_command', { command: 'echo begun; exec sleep 60', timeout: 1 });
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/longer than 1 s/) as string });
    expect(answer.text).toContain('begun');
  });

  it('runs commands beside each other', async () => {
    const first = inFolder('first');
    const both = [
      ok('run_command', { command: `until [ -e ${first} ]; do sleep 0.05; done; echo seen` }),
      ok('run_command', { command: `touch ${first}` }),
    ];
    const [waited] = await Promise.all(both);
    expect(waited?.structured).toMatchObject({ stdout: 'seen\n' });
  });
});

describe('files', () => {
  const text = 'első\r\nmásodik — 🙂\n';

  it('text comes back as it was written, in UTF-8', async () => {
    await ok('write_text', { path: inFolder('text'), content: text });
    expect(readFileSync(inFolder('text'), 'utf8')).toBe(text);
    expect((await ok('read_text', { path: inFolder('text') })).text).toBe(text);
  });

  it('that are no text are not read as text', async () => {
    writeFileSync(inFolder('binary'), Buffer.from([0xff, 0xfe, 0x00]));
    const answer = await bridge.call('read_text', { path: inFolder('binary') });
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/read_bytes/) as string });
  });

  it('bytes are written, added and read by ranges', async () => {
    const base64 = (value: string): string => Buffer.from(value).toString('base64');
    await ok('write_bytes', { path: inFolder('bytes'), content_b64: base64('0123456') });
    await ok('write_bytes', { path: inFolder('bytes'), content_b64: base64('789'), append: true });
    expect(readFileSync(inFolder('bytes'), 'utf8')).toBe('0123456789');
    expect((await ok('read_bytes', { path: inFolder('bytes'), offset: 3, length: 4 })).text).toBe(base64('3456'));
    expect((await ok('read_bytes', { path: inFolder('bytes'), offset: 8 })).text).toBe(base64('89'));
    expect((await ok('read_bytes', { path: inFolder('bytes') })).text).toBe(base64('0123456789'));
  });

  it('too large for one answer are read in parts', async () => {
    const content = Buffer.alloc(9 * 1024 * 1024, 'x');
    await ok('write_bytes', { path: inFolder('large'), content_b64: content.toString('base64') });
    expect(readFileSync(inFolder('large')).equals(content)).toBe(true);
    const whole = await bridge.call('read_bytes', { path: inFolder('large') });
    expect(whole).toMatchObject({ isError: true, text: expect.stringMatching(/ask for a part/) as string });
    const part = await ok('read_bytes', { path: inFolder('large'), offset: 9 * 1024 * 1024 - 3 });
    expect(part.text).toBe(Buffer.from('xxx').toString('base64'));
  });

  it('are not written from what is no base64', async () => {
    const answer = await bridge.call('write_bytes', { path: inFolder('none'), content_b64: 'not base64!' });
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/base64; allowed/) as string });
    expect(existsSync(inFolder('none'))).toBe(false);
  });

  it('that are not there are said to be so', async () => {
    const answer = await bridge.call('read_text', { path: inFolder('missing') });
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/missing/) as string });
  });
});

describe('clipboard', () => {
  it('keeps what is written to it, also nothing', async () => {
    for (const text of ['ünï ☃', '']) {
      await ok('write_clipboard', { text });
      expect((await ok('read_clipboard')).text).toBe(text);
    }
  });
});
