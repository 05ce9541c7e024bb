import { InvokeCommand, LambdaClient, type InvokeCommandInput } from '@aws-sdk/client-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCallGuest } from '#adapters/call-guest';
import { createGuestCalls } from '#adapters/cua-guest-calls';
import { createPassedOnClient } from '#adapters/cua-passed-on';
import type { GuestCallAnswer } from '#contracts/guest';
import { CallGuestPayload } from '#contracts/payloads';
import { VirtualClock } from '#local/clock';
import type { GuestCalls } from '#ports/guest-calls';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';

const ASCII = new TextEncoder();

/** The function in the network, as Lambda's API has it, over what it passes calls on with. */
class FakeFunction {
  readonly client = new LambdaClient({ region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  readonly clock = new VirtualClock({ start: new Date('2026-01-01T00:00:00.000Z') });
  readonly payloads: CallGuestPayload[] = [];
  largestBytes = 0;
  /** What the next invocations throw; `after` once the function has done what it was asked. */
  readonly faults: { readonly when: 'before' | 'after' | 'inside'; readonly name: string }[] = [];
  readonly #inside = createGuestCalls();

  constructor() {
    mockClient(this.client)
      .on(InvokeCommand)
      .callsFake(async ({ Payload }: InvokeCommandInput) => {
        const text = typeof Payload === 'string' ? Payload : '';
        this.largestBytes = Math.max(this.largestBytes, Buffer.byteLength(text));
        const fault = this.faults.shift();
        if (fault?.when === 'before') throw Object.assign(new Error('refused'), { name: fault.name });
        const { url, calls, timeoutSeconds } = CallGuestPayload.parse(JSON.parse(text));
        this.payloads.push({ url, calls, timeoutSeconds });
        const answers = await this.#inside.answer(url, calls, timeoutSeconds);
        if (fault?.when === 'after') throw Object.assign(new Error('cut'), { name: fault.name });
        if (fault?.when === 'inside')
          return { FunctionError: 'Unhandled', Payload: ASCII.encode('{"errorMessage":"x"}') };
        return { Payload: ASCII.encode(JSON.stringify(answers)) };
      });
  }

  get calls(): GuestCalls {
    return createCallGuest({ lambda: this.client, functionName: 'call-guest', clock: this.clock });
  }
}

let server: FakeCuaServer;
let lambda: FakeFunction;
beforeEach(async () => {
  server = await startFakeCuaServer();
  lambda = new FakeFunction();
});
afterEach(() => server.close());

describe('calls that a function in the network passes on', () => {
  it('are answered as the server answers: results, failures, refusals', async () => {
    server.answer('open', { kind: 'detail', statusCode: 401, detail: 'who are you' });
    const calls = ['version', 'read_bytes', 'open', 'GET /status'].map((command) => ({
      command,
      params: { path: '/no' },
    }));
    expect(await lambda.calls.answer(server.url, calls, 20)).toMatchObject([
      { kind: 'result', fields: { protocol: 1 } },
      { kind: 'failure' },
      { kind: 'http', statusCode: 401 },
      { kind: 'result', fields: { statusCode: 200, body: expect.stringContaining('linux') as string } },
    ] satisfies Partial<GuestCallAnswer>[]);
    expect(lambda.payloads).toHaveLength(1);
  });

  it('go in batches that the function can take', async () => {
    const content = Buffer.alloc(1_500_000, 1).toString('base64');
    const calls = Array.from({ length: 6 }, (_, index) => {
      return { command: 'write_bytes', params: { path: `/dev/null`, content_b64: content, index } };
    });
    const answers = await lambda.calls.answer(server.url, calls, 60);
    expect(answers).toHaveLength(6);
    expect(server.requests.map(({ params }) => params['index'])).toEqual([0, 1, 2, 3, 4, 5]);
    expect(lambda.payloads.length).toBeGreaterThan(1);
    expect(lambda.largestBytes).toBeLessThan(6_000_000);
    const huge = [{ command: 'write_bytes', params: { content_b64: 'x'.repeat(5_500_000) } }];
    await expect(lambda.calls.answer(server.url, huge, 20)).rejects.toMatchObject({ name: 'PayloadInvalidError' });
  });

  it('say so when an answer is larger than the function’s may be, and keep the others', async () => {
    server.answer('screenshot', { kind: 'frame', fields: { success: true, image_data: 'x'.repeat(5_400_000) } });
    const calls = ['screenshot', 'version'].map((command) => ({ command, params: {} }));
    expect(await lambda.calls.answer(server.url, calls, 20)).toMatchObject([
      { kind: 'transport', fault: 'too-large' },
      { kind: 'result' },
    ]);
  });

  it('are not read further than an answer can be handed on', async () => {
    server.answer('read_bytes', { kind: 'huge', bytes: 400 * 1024 * 1024 });
    const calls = ['read_bytes', 'version'].map((command) => ({ command, params: { path: '/x' } }));
    expect(await createGuestCalls().answer(server.url, calls, 20)).toMatchObject([
      { kind: 'transport', fault: 'too-large', reason: expect.stringContaining(`${6 * 1024 * 1024} bytes`) as string },
      { kind: 'result' },
    ]);
  });

  it('are unreachable where there is no server, and not begun without time', async () => {
    const calls = [{ command: 'version', params: {} }];
    expect(await lambda.calls.answer('http://127.0.0.1:1', calls, 1)).toMatchObject([{ fault: 'unreachable' }]);
    expect(await createGuestCalls().answer(server.url, calls, 0)).toMatchObject([{ fault: 'unreachable' }]);
    expect(server.requests).toEqual([]);
  });

  it('are sent once when they may have been done, and again when they cannot', async () => {
    const calls = [{ command: 'run_command', params: { command: 'true' } }];
    lambda.faults.push({ when: 'after', name: 'TimeoutError' });
    expect(await lambda.calls.answer(server.url, calls, 20)).toMatchObject([{ kind: 'transport', fault: 'cut' }]);
    lambda.faults.push({ when: 'inside', name: '' });
    expect(await lambda.calls.answer(server.url, calls, 20)).toMatchObject([{ kind: 'transport', fault: 'cut' }]);
    expect(server.requests).toHaveLength(2);
    lambda.faults.push({ when: 'before', name: 'TooManyRequestsException' });
    expect(await lambda.calls.answer(server.url, calls, 20)).toMatchObject([{ kind: 'result' }]);
    expect(server.requests).toHaveLength(3);
  });

  it('are sent again while Lambda refuses them, which cannot have run, for as long as there is time', async () => {
    const calls = [{ command: 'run_command', params: { command: 'true' } }];
    const refuse = (times: number): void => {
      for (let each = 0; each < times; each += 1)
        lambda.faults.push({ when: 'before', name: 'TooManyRequestsException' });
    };
    refuse(10);
    expect(await lambda.calls.answer(server.url, calls, 120)).toMatchObject([{ kind: 'result' }]);
    expect(server.requests).toHaveLength(1);
    const [{ timeoutSeconds } = { timeoutSeconds: 0 }] = lambda.payloads;
    expect(timeoutSeconds).toBeLessThan(100);
    refuse(10);
    expect(await lambda.calls.answer(server.url, calls, 20)).toMatchObject([{ fault: 'unreachable' }]);
    expect(server.requests).toHaveLength(1);
  });

  it('are sent again when they only look', async () => {
    const calls = [{ command: 'file_exists', params: { path: '/tmp' } }];
    lambda.faults.push({ when: 'after', name: 'TimeoutError' });
    expect(await lambda.calls.answer(server.url, calls, 20)).toMatchObject([{ kind: 'result' }]);
  });

  it('are an error of ours when the function may not be called', async () => {
    lambda.faults.push({ when: 'before', name: 'AccessDeniedException' });
    const calls = [{ command: 'version', params: {} }];
    await expect(lambda.calls.answer(server.url, calls, 20)).rejects.toMatchObject({ name: 'AccessDeniedException' });
  });
});

describe('a client over them', () => {
  it('moves large files in pieces, and runs commands as over the wire', async () => {
    const client = createPassedOnClient(lambda.calls, server.url);
    const content = Buffer.alloc(3_300_000, 'abc');
    const path = `/tmp/examhall-passed-on-${process.pid}`;
    expect(await client.upload(path, content)).toEqual({ sizeBytes: content.length });
    expect(Buffer.compare(await client.download(path, 10_000_000), content)).toBe(0);
    expect(await client.exec(`rm ${path} && echo gone`, { timeoutSeconds: 20 })).toMatchObject({ stdout: 'gone\n' });
    expect(lambda.largestBytes).toBeLessThan(2_000_000);
    expect(await client.osType()).toBe('linux');
  });

  it('throws what it would throw over the wire', async () => {
    const client = createPassedOnClient(lambda.calls, server.url);
    await expect(client.call('read_bytes', { path: '/no' })).rejects.toMatchObject({ name: 'CuaCommandError' });
    await expect(client.call('no_such_command')).rejects.toMatchObject({ name: 'CuaRequestError', statusCode: 400 });
    await server.close();
    const gone = { name: 'CuaTransportError', fault: 'unreachable', mayHaveRun: false };
    await expect(client.call('version')).rejects.toMatchObject(gone);
  });
});
