import { describe, expect, it } from 'vitest';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import { functionNamed } from '#contracts/functions';
import { AsyncInvocations, type FailedInvocation } from '#local/async-invocations';
import { VirtualClock } from '#local/clock';

const ONE_AT_A_TIME = functionNamed('grant-slots');
const MANY = functionNamed('on-run-finished');

class Bench {
  readonly clock = new VirtualClock({ isAutomatic: false });
  readonly calls: string[] = [];
  readonly setAside: FailedInvocation[] = [];
  readonly invocations: AsyncInvocations;
  fail: (payload: string) => Error | undefined = () => undefined;
  seconds = 1;
  most = 0;
  #running = 0;

  constructor() {
    const invoke = async (_: string, payload: string): Promise<string> => {
      this.calls.push(payload);
      this.most = Math.max(this.most, (this.#running += 1));
      await this.clock.sleep(this.seconds * 1000);
      this.#running -= 1;
      const error = this.fail(payload);
      if (error !== undefined) throw error;
      return 'null';
    };
    this.invocations = new AsyncInvocations(invoke, this.clock, (failed) => this.setAside.push(failed));
  }

  enqueue(declaration: FunctionDeclaration, ...payloads: readonly string[]): void {
    for (const payload of payloads) this.invocations.enqueue(declaration, payload);
  }
}

const payloads = (count: number) => Array.from({ length: count }, (_, index) => `{"n":${String(index)}}`);

describe('asynchronous invocations', () => {
  it('run no more at once than is reserved, in their order, and all of them', async () => {
    const bench = new Bench();
    bench.enqueue(MANY, ...payloads(120));
    await bench.clock.advance(10_000);
    expect(bench.most).toBe(MANY.reservedConcurrency);
    expect(bench.calls).toEqual(payloads(120));
    expect(bench.invocations.running).toBe(0);
  });

  it('of a function of concurrency one run once for all that wait with the same payload', async () => {
    const bench = new Bench();
    bench.enqueue(ONE_AT_A_TIME, '{}', '{}', '{"sweepId":"s"}', '{}', '{"sweepId":"s"}');
    await bench.clock.advance(10_000);
    expect(bench.calls).toEqual(['{}', '{}', '{"sweepId":"s"}']);
    expect(bench.most).toBe(1);
  });

  it('of other functions are never merged', async () => {
    const bench = new Bench();
    bench.enqueue(MANY, '{}', '{}');
    await bench.clock.advance(10_000);
    expect(bench.calls.length).toBe(2);
  });
});

describe('an invocation that fails', () => {
  it('is tried twice more, a minute apart, then set aside with its error', async () => {
    const bench = new Bench();
    const error = new Error('down');
    bench.fail = () => error;
    bench.enqueue(MANY, '{"n":1}');
    await bench.clock.advance(59_000);
    expect(bench.calls.length).toBe(1);
    await bench.clock.advance(300_000);
    expect(bench.calls.length).toBe(3);
    expect(bench.setAside).toEqual([{ name: MANY.name, payloadJson: '{"n":1}', error }]);
    expect(bench.invocations.deadLetters).toEqual(bench.setAside);
  });

  it('that then works is not set aside', async () => {
    const bench = new Bench();
    bench.fail = () => (bench.calls.length < 3 ? new Error('down') : undefined);
    bench.enqueue(MANY, '{}');
    await bench.clock.advance(300_000);
    expect(bench.calls.length).toBe(3);
    expect(bench.setAside).toEqual([]);
  });

  it('keeps no other of its function from its turn while it waits', async () => {
    const bench = new Bench();
    bench.fail = (payload) => (payload === '{"n":0}' ? new Error('down') : undefined);
    bench.enqueue(ONE_AT_A_TIME, ...payloads(3));
    await bench.clock.advance(5000);
    expect(bench.calls).toEqual(payloads(3));
  });

  it('because it was throttled has used up no try', async () => {
    const bench = new Bench();
    bench.fail = () =>
      bench.calls.length < 8
        ? Object.assign(new Error('busy'), { name: 'Lambda.TooManyRequestsException' })
        : undefined;
    bench.enqueue(MANY, '{}');
    await bench.clock.advance(1_000_000);
    expect(bench.calls.length).toBe(8);
    expect(bench.setAside).toEqual([]);
  });

  it('again and again fills no memory', async () => {
    const bench = new Bench();
    bench.fail = () => new Error('down');
    bench.enqueue(MANY, ...payloads(250));
    await bench.clock.advance(1_000_000);
    expect(bench.setAside.length).toBe(250);
    expect(bench.invocations.deadLetters.length).toBe(100);
    expect(bench.invocations.deadLetters.at(-1)).toBe(bench.setAside.at(-1));
  });
});

describe('after the close', () => {
  it('nothing more starts, no retry either, and no timer is left', async () => {
    const bench = new Bench();
    bench.fail = () => new Error('down');
    bench.enqueue(MANY, ...payloads(60));
    await bench.clock.advance(1500);
    const { length } = bench.calls;
    bench.invocations.close();
    bench.enqueue(MANY, '{}');
    await bench.clock.advance(1000);
    expect(bench.clock.pendingTimers).toBe(0);
    await bench.clock.advance(300_000);
    expect(bench.calls.length).toBe(length);
    expect(bench.invocations.running).toBe(0);
  });
});
