import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { functionNamed } from '#contracts/functions';
import { variablesOf } from '#contracts/needs';
import { defineHandler } from '#runtime/define-handler';
import type { Ports } from '#ports/ports';

const DECLARED = 'run-grader';
const context = { awsRequestId: 'request-1', functionName: 'f' };

let lines: Readonly<Record<string, unknown>>[];
let others: NodeJS.UnhandledRejectionListener[];
beforeEach(() => {
  lines = [];
  others = process.listeners('unhandledRejection');
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    lines.push(JSON.parse(String(text)) as Readonly<Record<string, unknown>>);
    return true;
  });
  // The runner has variables of its own.
  for (const name of Object.keys(process.env)) if (name.startsWith('EXAMHALL_')) vi.stubEnv(name, undefined);
  vi.stubEnv('EXAMHALL_CODE_SHA256', 'c'.repeat(64));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  for (const listener of process.listeners('unhandledRejection')) {
    if (!others.includes(listener)) process.off('unhandledRejection', listener);
  }
});

const handlerWith = (run: (ports: Ports) => Promise<unknown>) =>
  defineHandler({ name: DECLARED, payload: z.object({}), run: async (_, ports) => await run(ports) });

describe('a handler that no embedded host runs', () => {
  it('has the ports of its deployment, made once for all calls', async () => {
    expect(variablesOf(functionNamed(DECLARED).needs)).toEqual(['EXAMHALL_CODE_SHA256']);
    const seen: unknown[] = [];
    const handler = handlerWith(async (ports) => {
      seen.push(ports.workspace);
      return ports.code.sha256;
    });
    expect([await handler({}, context), await handler({}, context)]).toEqual(['c'.repeat(64), 'c'.repeat(64)]);
    expect(seen[0]).toBe(seen[1]);
  });

  it('writes one line of JSON per event, with the request’s id', async () => {
    const handler = handlerWith(async () => undefined);
    await handler({ unitId: 'u' }, context);
    expect(lines).toMatchObject([
      { level: 'info', event: 'function.started', function: DECLARED, awsRequestId: 'request-1', unitId: 'u' },
      { level: 'info', event: 'function.finished', function: DECLARED, awsRequestId: 'request-1', unitId: 'u' },
    ]);
    expect(lines.every(({ at }) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/u.test(String(at)))).toBe(true);
  });

  it('tries again to make its ports after it could not', async () => {
    const handler = handlerWith(async () => 'done');
    vi.stubEnv('EXAMHALL_CODE_SHA256', 'short');
    await expect(handler({}, context)).rejects.toMatchObject({ name: 'EnvironmentInvalidError' });
    vi.stubEnv('EXAMHALL_CODE_SHA256', 'c'.repeat(64));
    expect(await handler({}, context)).toBe('done');
  });

  it('writes a promise that nobody waited for into the log, and leaves its end to the host', async () => {
    const stray = vi.fn();
    process.on('unhandledRejection', stray);
    const handler = handlerWith(async () => undefined);
    await handler({}, context);
    const [listener] = process
      .listeners('unhandledRejection')
      .filter((each) => !others.includes(each) && each !== stray);
    const reason = Object.assign(new Error('lost'), { name: 'LostError' });
    listener?.(reason, Promise.resolve());
    expect(lines.at(-1)).toMatchObject({
      level: 'error',
      event: 'function.failed',
      function: DECLARED,
      errorName: 'LostError',
      message: 'lost',
    });
    process.removeAllListeners('unhandledRejection');
    if (listener !== undefined) process.on('unhandledRejection', listener);
    expect(() => listener?.(reason, Promise.resolve())).toThrow('lost');
    process.removeAllListeners('unhandledRejection');
    for (const other of others) process.on('unhandledRejection', other);
  });
});
