import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isBlackPicture } from '#adapters/png-pixels';
import type { GuestState } from '#contracts/guest';
import { parseReply } from '#core/cua/frames';
import { answerOf, openRequest, readBody } from './http-client.ts';

const ANSWER_SECONDS = 10;
const ANSWER_LIMIT_BYTES = 128 * 1024 * 1024;

/** How the desktop of this guest does now, as its cua-server shows it. Whatever fails is part of the answer. */
export async function stateOfDesktop(cuaUrl: string): Promise<GuestState> {
  const hasConsoleSession = await consoleSession();
  const png = await screenshot(cuaUrl).catch(() => undefined);
  if (png === undefined) return { hasConsoleSession, answersCua: await answers(cuaUrl), isScreenBlack: null };
  const isScreenBlack = await isBlackPicture(png).catch(() => null);
  return { hasConsoleSession, answersCua: true, isScreenBlack };
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
