import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stateOfDesktop } from '#guest/guest-state';
import { plainPng } from '#test/builders/pictures';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';

let folder: string;
let server: FakeCuaServer;
let image = '';
beforeEach(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-state-'));
  image = plainPng(64, 48, [30, 80, 120]).toString('base64');
  server = await startFakeCuaServer({ handlers: { screenshot: () => ({ success: true, image_data: image }) } });
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the state of a desktop', () => {
  it('has the size of the picture, whatever is on it, and none where no picture came', async () => {
    expect(await stateOfDesktop(server.url)).toMatchObject({ screenSize: '64x48', isScreenBlack: false });
    image = plainPng(80, 60, [0, 0, 0]).toString('base64');
    expect(await stateOfDesktop(server.url)).toMatchObject({ screenSize: '80x60', isScreenBlack: true });
    image = Buffer.from('no picture').toString('base64');
    expect(await stateOfDesktop(server.url)).toMatchObject({ screenSize: null, isScreenBlack: null });
    const nobody = await stateOfDesktop('http://127.0.0.1:1');
    expect(nobody).toMatchObject({ answersCua: false, screenSize: null, screenNote: null });
  });

  it('has what was noted of the size, as one short line of plain text', async () => {
    const note = path.join(folder, 'note.txt');
    expect(await stateOfDesktop(server.url, note)).toMatchObject({ screenNote: null });
    writeFileSync(note, `\uFEFFit can be 800x600,\r\n1024x768\u0007${'x'.repeat(5000)}`);
    const { screenNote } = await stateOfDesktop(server.url, note);
    expect(screenNote).toMatch(/^it can be 800x600, 1024x768 x+$/);
    expect(screenNote?.length).toBeLessThanOrEqual(600);
  });

  it('takes no other file for the note: the note is the agent’s, and its reader may read more', async () => {
    const secret = path.join(folder, 'secret');
    writeFileSync(secret, 'not for the agent');
    symlinkSync(secret, path.join(folder, 'link'));
    linkSync(secret, path.join(folder, 'second-name'));
    mkdirSync(path.join(folder, 'there'));
    writeFileSync(path.join(folder, 'there', 'note'), 'not for the agent');
    symlinkSync(path.join(folder, 'there'), path.join(folder, 'linked'));
    for (const name of ['link', 'second-name', 'there', 'linked/note'])
      expect((await stateOfDesktop(server.url, path.join(folder, name))).screenNote, name).toBeNull();
  });
});
