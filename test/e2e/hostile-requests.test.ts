import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawExchange, type RawAnswer, type RawExchange } from '#test/builders/raw-http';
import { endAllCli, REPOSITORY, startExamhall, type RunningCli } from './cli-process.ts';
import { hostileRequests, SWEEP_NAME, type HostileRequest, type Target } from './hostile-requests.ts';

const REQUESTS = 2_000;
const SEED = 20261130;
const AT_ONCE = 8;
/** The process itself takes a good part of it: compiler, database, published code. */
const MOST_MEMORY_MIB = 900;

/** What no answer ever holds. */
const INSIDES: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a stack trace', /\bat (?:async )?[\w.<>$# ]*\(?(?:file:\/\/|node:|\/)[^\s)]*:\d+:\d+/u],
  ['a source file', /node_modules|\.ts:\d+|\.mjs:\d+/u],
  ['a reference or solution', /canary-(?:reference|solution)/u],
  ['our state', /\.examhall|state\.db/u],
];
const AMOUNTS = /"(?:spentUsd|largestCostUsd|knownUsd)":\d|"partsUsd"|cost\.json/u;

let server: RunningCli;
let served: Target;

beforeAll(async () => {
  server = startExamhall([], { main: path.join(REPOSITORY, 'test/e2e/serve-roles.ts'), timeoutSeconds: 280 });
  served = JSON.parse(await server.firstLine()) as Target;
}, 120_000);
afterAll(async () => {
  await endAllCli();
});

interface Attacked {
  readonly request: HostileRequest;
  readonly exchange: RawExchange;
}

async function attack(requests: readonly HostileRequest[]): Promise<readonly Attacked[]> {
  const queue = [...requests];
  const done: Attacked[] = [];
  const work = async (): Promise<void> => {
    for (let request = queue.shift(); request !== undefined; request = queue.shift()) {
      const options = { answers: request.count, giveUpMs: 8_000, isHead: isHead(request) };
      done.push({ request, exchange: await rawExchange(served.port, [request.bytes], options) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return done;
}

const isHead = ({ bytes }: HostileRequest): boolean => bytes.subarray(0, 5).toString('latin1') === 'HEAD ';

const shown = ({ bytes }: HostileRequest): string => JSON.stringify(bytes.subarray(0, 600).toString('latin1'));

/** Why an answer should not have been given to this caller, or null. */
function leakIn(caller: string | null, text: string): string | null {
  const inside = INSIDES.find(([, pattern]) => pattern.test(text));
  if (inside !== undefined) return inside[0];
  if (text.includes(served.folder)) return 'a path of the server';
  if (Object.values(served.tokens).some((token) => text.includes(token))) return 'a token';
  if (caller === 'mixed') return null;
  const isKnown = caller !== null && caller !== 'nobody';
  if (!isKnown && text.includes(SWEEP_NAME)) return 'a sweep, to somebody without a role';
  if (!['finance', 'admin'].includes(caller ?? '') && AMOUNTS.test(text))
    return 'costs, to somebody who may not see them';
  if (!['publisher', 'admin'].includes(caller ?? '') && text.includes('x-amz-signature')) return 'an upload form';
  return null;
}

/** Everybody may see the API's description, whose examples hold amounts and forms. */
function withoutDescription({ text, answers }: RawExchange): string {
  const descriptions = answers.filter(({ body }) => /^\{\s*"openapi":/u.test(body));
  return descriptions.reduce((rest, { body }) => rest.replace(Buffer.from(body).toString('latin1'), () => ''), text);
}

/** Problems are problem+json; every answer says how it is to be taken. */
function shapeOf({ status, headers, body }: RawAnswer): string | null {
  if (status < 200 || status >= 500) return `status ${String(status)}`;
  if (status < 400) return null;
  if (headers.get('content-type') !== 'application/problem+json') return `${String(status)} without a problem`;
  if (body === '') return null;
  const problem = JSON.parse(body) as Record<string, unknown>;
  return problem['status'] === status && typeof problem['code'] === 'string' ? null : 'a problem of another status';
}

function memoryPeakMiB(pid: number): number | null {
  const file = `/proc/${String(pid)}/status`;
  if (!existsSync(file)) return null;
  return Number(/VmHWM:\s+(\d+) kB/u.exec(readFileSync(file, 'utf8'))?.[1]) / 1024;
}

describe('two thousand hostile requests', () => {
  it('get no 5xx, no inside of the server, and nothing that their sender may not see', async () => {
    const requests = hostileRequests(served, REQUESTS, SEED);
    expect(requests).toHaveLength(REQUESTS);
    const attacked = await attack(requests);
    const bad: string[] = [];
    const statuses = new Map<number, number>();
    for (const { request, exchange } of attacked) {
      for (const answer of exchange.answers) {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        const shape = isHead(request) ? null : shapeOf(answer);
        if (shape !== null) bad.push(`${shape}: ${shown(request)} -> ${answer.body.slice(0, 300)}`);
      }
      const leak = leakIn(request.caller, withoutDescription(exchange));
      if (leak !== null) bad.push(`${leak}: ${shown(request)} -> ${exchange.text.slice(0, 600)}`);
      if (exchange.answers.length === 0 && !exchange.isClosed) bad.push(`no answer: ${shown(request)}`);
    }
    expect(bad.slice(0, 5), `${String(bad.length)} in all`).toEqual([]);
    for (const status of [200, 400, 401, 403, 404, 405, 413, 422])
      expect(statuses.get(status) ?? 0, `answers with ${String(status)}`).toBeGreaterThan(0);
  }, 200_000);

  it('leave the server alive, its memory bounded, and what it holds as it was', async () => {
    const answered = await rawExchange(served.port, [
      `GET /sweeps/${served.sweepId} HTTP/1.1\r\nHost: 127.0.0.1:${String(served.port)}\r\nAuthorization: Bearer ${served.tokens['viewer'] ?? ''}\r\n\r\n`,
    ]);
    expect(answered.answers[0]?.status).toBe(200);
    expect(JSON.parse(answered.answers[0]?.body ?? '')).toMatchObject({ name: SWEEP_NAME, status: 'closed' });
    const peak = memoryPeakMiB(server.pid);
    if (peak !== null) expect(peak).toBeLessThan(MOST_MEMORY_MIB);
    process.kill(server.pid, 'SIGTERM');
    const { code, stderr } = await server.ended;
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });
});
