import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ExamHallError } from '#core/errors';
import type { Ports } from '#ports/ports';
import { defineHandler } from '#runtime/define-handler';
import { withPorts } from '#runtime/ports-registry';
import { World } from '#test/builders/world';

const Payload = z.strictObject({
  attemptId: z.string(),
  unitId: z.string(),
  token: z.string().optional(),
  stageUrl: z.string().optional(),
  seconds: z.int().positive(),
});
type Payload = z.infer<typeof Payload>;

const VALID = { attemptId: 'u.1', unitId: 'u', seconds: 3 };

function call(event: unknown, run: (payload: Payload, ports: Ports) => Promise<unknown> = async () => undefined) {
  const world = new World();
  const handler = defineHandler({ name: 'do-it', payload: Payload, run });
  return { world, answer: withPorts(world.ports, async () => await handler(event)) };
}

describe('a handler', () => {
  it('gives its use case the parsed payload and the host’s ports, and answers what that returns', async () => {
    const { world, answer } = call(VALID, async (payload, ports) => [
      payload.seconds,
      await ports.unitStore.get({ pk: 'a', sk: 'b' }),
    ]);
    expect(await answer).toEqual([3, undefined]);
    expect(world.store.calls.length).toBe(1);
  });

  it('answers null where the use case returns nothing', async () => {
    expect(await call(VALID).answer).toBeNull();
  });

  it('logs start and end under the keys of the unit at hand', async () => {
    const { world, answer } = call(VALID, async (_, ports) => ports.log.info('unit.closed', { extra: 1 }));
    await answer;
    const keys = { function: 'do-it', attemptId: 'u.1', unitId: 'u' };
    expect(world.log.lines).toEqual([
      { level: 'info', event: 'function.started', fields: keys },
      { level: 'info', event: 'unit.closed', fields: { ...keys, extra: 1 } },
      { level: 'info', event: 'function.finished', fields: keys },
    ]);
  });

  it('lets errors pass with their names, and logs them', async () => {
    const named = new ExamHallError('CapacityUnavailableError', 'sold out');
    const { world, answer } = call(VALID, async () => Promise.reject(named));
    await expect(answer).rejects.toBe(named);
    expect(world.log.lines.at(-1)).toMatchObject({
      level: 'error',
      event: 'function.failed',
      fields: { attemptId: 'u.1', errorName: 'CapacityUnavailableError', message: 'sold out' },
    });
  });

  it('survives that something other than an error is thrown', async () => {
    const { world, answer } = call(VALID, async () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- what a foreign library may do
      throw 'text';
    });
    await expect(answer).rejects.toBe('text');
    expect(world.log.lines.at(-1)?.fields).toMatchObject({ errorName: 'string', message: 'text' });
  });
});

describe('a payload that does not fit', () => {
  it('is refused naming each wrong field, and the use case is not called', async () => {
    let isCalled = false;
    const { world, answer } = call({ attemptId: 7, seconds: -1, surplus: true }, async () => {
      isCalled = true;
    });
    const error = await answer.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'PayloadInvalidError' });
    for (const field of ['do-it', 'attemptId', 'unitId', 'seconds', 'surplus']) expect(String(error)).toContain(field);
    expect(isCalled).toBe(false);
    expect(world.log.events).toEqual(['function.started', 'function.failed']);
  });

  it.each([undefined, null, 'text', 7, []])('is refused whatever it is: %j', async (event) => {
    await expect(call(event).answer).rejects.toMatchObject({ name: 'PayloadInvalidError' });
  });

  it('shows no value of it', async () => {
    const { world, answer } = call({ ...VALID, seconds: 'hunter2', token: 12345678 });
    const error = await answer.catch((thrown: unknown) => thrown);
    expect(`${String(error)} ${JSON.stringify(world.log.lines)}`).not.toMatch(/hunter2|12345678/u);
  });
});

describe('tokens and signed URLs', () => {
  const secret = { ...VALID, token: 'token-abc.def', stageUrl: 'http://h/artifacts?key=k&signature=f00' };

  it('are masked in every line, also deep in its fields and in messages of errors', async () => {
    const { world, answer } = call(secret, async ({ token, stageUrl }, ports) => {
      ports.log.warn('token.gone', { token, deep: { list: [`was ${String(token)}`, { stageUrl }] } });
      throw new Error(`could not use ${String(token)} at ${String(stageUrl)}`);
    });
    await expect(answer).rejects.toThrow();
    const text = JSON.stringify(world.log.lines);
    expect(text).not.toMatch(/token-abc|signature/u);
    expect(text).toContain('could not use *** at ***');
  });

  it('are no keys of the log', async () => {
    const { world, answer } = call(secret);
    await answer;
    expect(Object.keys(world.log.lines[0]?.fields ?? {}).toSorted()).toEqual(['attemptId', 'function', 'unitId']);
  });
});
