import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { CallAnswer } from '#cli/remote/api-client';
import { readUnitLog } from '#cli/remote/unit-log';
import { attemptDetail, UNIT_ID, unitDetail } from './api-answers.ts';
import { clientOf, startFakeApi, type FakeApi } from './fake-api.ts';

type Unit = CallAnswer<'getUnit'>;

let api: FakeApi | null = null;
afterEach(async () => {
  await api?.close();
  api = null;
});

const event = (type: string): string => `${JSON.stringify({ ts: '2026-01-02T03:04:05Z', type, run_id: 'r' })}\n`;

/** How a unit stands at each look: attempts with what their logs hold, and whether it is still open. */
interface Look {
  readonly isOpen: boolean;
  /** Null for an attempt without a log yet. */
  readonly logs: readonly (string | null)[];
}

type Asked = (string | undefined)[];

/** Serves each log from the byte asked for, and notes what was asked. */
function serveLogs(
  logsNow: () => Look['logs'],
  asked: Asked,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const index = /^\/files\/(\d+)$/u.exec(request.url ?? '')?.[1];
    if (index === undefined) return false;
    asked.push(request.headers.range);
    const log = logsNow()[Number(index)] ?? '';
    const from = Number(/^bytes=(\d+)-$/u.exec(request.headers.range ?? '')?.[1] ?? 0);
    if (from > 0 && from >= log.length) response.writeHead(416).end();
    else response.writeHead(from > 0 ? 206 : 200).end(log.slice(from));
    return true;
  };
}

function unitAt({ isOpen, logs }: Look, baseUrl: URL): Unit {
  const attemptList = logs.map((log, index) => {
    const isLast = index === logs.length - 1;
    const url = new URL(`/files/${String(index)}`, baseUrl).href;
    return attemptDetail({
      attemptId: `${UNIT_ID}.${String(index + 1)}`,
      closedAt: isOpen && isLast ? null : '2026-01-02T03:14:05.000Z',
      stage: 'run-agent',
      files: log === null ? [] : [{ path: 'events.jsonl', sizeBytes: log.length, sha256: 'a'.repeat(64), url }],
    });
  });
  return unitDetail({ class: isOpen ? 'open' : 'scored', attemptList });
}

async function follow(looks: readonly Look[], isFollowing = true) {
  let at = 0;
  let now: Look = looks[0] ?? { isOpen: false, logs: [] };
  const ranges: Asked = [];
  const getUnit = (): Unit => {
    now = looks[Math.min(at, looks.length - 1)] ?? now;
    at += 1;
    return unitAt(now, started.url);
  };
  const started = await startFakeApi({ getUnit }, { files: serveLogs(() => now.logs, ranges) });
  api = started;
  const lines: string[] = [];
  const told: string[] = [];
  const hasLines = await readUnitLog(
    { unitId: UNIT_ID, attempt: null, follow: isFollowing },
    {
      client: clientOf(started),
      download: { timeoutSeconds: 2, allowsLoopback: true },
      everySeconds: 1,
      delay: () => Promise.resolve(),
      nowSeconds: () => 0,
      tell: (line) => told.push(line),
      line: (line) => lines.push(line),
    },
  );
  return {
    lines: lines.map((line) => String((JSON.parse(line) as { readonly type: unknown }).type)),
    told,
    ranges,
    hasLines,
  };
}

describe('following the log of a unit', () => {
  it('prints each line once, whole, and reads on from where it was', async () => {
    const [one, two, three] = [event('one'), event('two'), event('three')];
    const half = `${one}${two.slice(0, 20)}`;
    const { lines, ranges } = await follow([
      { isOpen: true, logs: [half] },
      { isOpen: true, logs: [half] },
      { isOpen: false, logs: [`${one}${two}${three}`] },
    ]);
    expect(lines).toEqual(['one', 'two', 'three']);
    expect(ranges).toEqual([undefined, `bytes=${String(half.length)}-`, `bytes=${String(half.length)}-`]);
  });

  it('reads an attempt to its end before it goes on to the next, and ends with the unit', async () => {
    const whole = `${event('first')}${event('last')}`;
    const { lines } = await follow([
      { isOpen: true, logs: [event('first')] },
      { isOpen: true, logs: [whole, null] },
      { isOpen: false, logs: [whole, event('second')] },
    ]);
    expect(lines).toEqual(['first', 'last', 'second']);
  });

  it('says what an attempt is at while it has no log', async () => {
    const { told, hasLines } = await follow([
      { isOpen: true, logs: [null] },
      { isOpen: true, logs: [null] },
      { isOpen: false, logs: [null] },
    ]);
    expect({ told, hasLines }).toEqual({ told: [`${UNIT_ID}.1: run-agent`], hasLines: false });
  });

  it('looks once when it does not follow', async () => {
    const { lines, hasLines } = await follow([{ isOpen: true, logs: [event('one')] }], false);
    expect({ lines, hasLines }).toEqual({ lines: ['one'], hasLines: true });
    expect(api?.calls).toHaveLength(1);
  });
});
