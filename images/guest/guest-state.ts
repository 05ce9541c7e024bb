import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { isBlackPicture, pictureSize } from '#adapters/png-pixels';
import type { GuestState } from '#contracts/guest';
import { parseReply } from '#core/cua/frames';
import { isFolderOfFolders, openRegular } from './collect-walk.ts';
import { answerOf, openRequest, readBody } from './http-client.ts';

const ANSWER_SECONDS = 10;
const ANSWER_LIMIT_BYTES = 128 * 1024 * 1024;

const NOTE_BYTES = 600;
/** Where the desktop's task on Windows says how it went with the size of the screen. */
export const WINDOWS_SCREEN_NOTE = 'C:\\Users\\User\\AppData\\Local\\examhall-screen.txt';

/** How the desktop of this guest does now, as its cua-server shows it. Whatever fails is part of the answer. */
export async function stateOfDesktop(
  cuaUrl: string,
  noteFile: string | null = process.platform === 'win32' ? WINDOWS_SCREEN_NOTE : null,
): Promise<GuestState> {
  const hasConsoleSession = await consoleSession();
  const screenNote = noteFile === null ? null : await noteIn(noteFile);
  const png = await screenshot(cuaUrl).catch(() => undefined);
  if (png === undefined) {
    const answersCua = await answers(cuaUrl);
    return { hasConsoleSession, answersCua, isScreenBlack: null, screenSize: null, screenNote };
  }
  const isScreenBlack = await isBlackPicture(png).catch(() => null);
  return { hasConsoleSession, answersCua: true, isScreenBlack, screenSize: sizeOf(png), screenNote };
}

function sizeOf(png: Uint8Array): string | null {
  try {
    return pictureSize(png);
  } catch {
    return null;
  }
}

/** The file is the agent's own: no other one is read in its place, and its text is cut and plain. */
async function noteIn(file: string): Promise<string | null> {
  if (!(await isFolderOfFolders(path.dirname(file)))) return null;
  const handle = await openRegular(Buffer.from(file), { hasOneName: true });
  if (typeof handle === 'string') return null;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(NOTE_BYTES), 0, NOTE_BYTES, 0);
    const text = buffer.subarray(0, bytesRead).toString('utf8');
    return text.replace(/[^ -~]+/gu, ' ').trim() || null;
  } finally {
    await handle.close();
  }
}

async function answers(cuaUrl: string): Promise<boolean> {
  try {
    return (await ask(cuaUrl, 'GET', '/status')).statusCode === 200;
  } catch {
    return false;
  }
}

async function screenshot(cuaUrl: string): Promise<Uint8Array | undefined> {
  const { statusCode, body } = await ask(cuaUrl, 'POST', '/cmd', { command: 'screenshot', params: {} });
  const reply = parseReply(statusCode, body);
  const data = reply.kind === 'result' ? reply.fields['image_data'] : undefined;
  return typeof data === 'string' && data !== '' ? Buffer.from(data, 'base64') : undefined;
}

async function ask(
  cuaUrl: string,
  method: 'GET' | 'POST',
  path: string,
  command?: object,
): Promise<{ readonly statusCode: number; readonly body: string }> {
  const body = command === undefined ? '' : JSON.stringify(command);
  const headers = body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const request = openRequest(`${cuaUrl}${path}`, { method, headers });
  const timer = setTimeout(() => request.destroy(new Error('no answer in time')), ANSWER_SECONDS * 1000);
  try {
    request.end(body);
    const answer = await answerOf(request);
    return { statusCode: answer.statusCode ?? 0, body: await readBody(answer, ANSWER_LIMIT_BYTES) };
  } finally {
    clearTimeout(timer);
  }
}

/** Whether somebody is logged on to a desktop outside of the services' session: there the shell of Windows runs. */
async function consoleSession(): Promise<boolean | null> {
  if (process.platform !== 'win32') return null;
  const filter = ['/fi', 'imagename eq explorer.exe', '/fi', 'session ne 0', '/fo', 'csv', '/nh'];
  try {
    return /explorer\.exe/i.test((await promisify(execFile)('tasklist.exe', filter)).stdout);
  } catch {
    return false;
  }
}
