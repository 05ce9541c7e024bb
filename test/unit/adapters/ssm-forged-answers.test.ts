import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SsmKit } from '#test/builders/ssm-kit';
import { sleepJob } from '#test/contract/channel-suite';
import type { Sandbox } from '#ports/sandbox-provider';

const open: SsmKit[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const each of open.splice(0)) await each.remove();
});

const JOB = 'demo__x.1~run';
const KEY = randomBytes(32).toString('base64url');

type Forge = (requestId: string) => string | Uint8Array;

/** A machine whose root replies what they like; the runner is not run, and all its commands end well. */
async function openForger(
  forge: Forge,
): Promise<{ readonly kit: SsmKit; readonly sandbox: Sandbox; readonly readSizes: readonly number[] }> {
  const kit = await SsmKit.open();
  open.push(kit);
  kit.ssm.says = '';
  const sandbox = kit.sandbox({ sealingKey: KEY });
  const { store } = kit.served;
  const get = store.get.bind(store);
  const readSizes: number[] = [];
  vi.spyOn(store, 'get').mockImplementation(async (ref, range) => {
    const requestId = /\/guest\/(?<id>[^/]+)\/reply/.exec(ref.key)?.groups?.['id'];
    if (requestId !== undefined) await store.put(ref, forge(requestId));
    const bytes = await get(ref, range);
    readSizes.push(bytes.byteLength);
    return bytes;
  });
  return { kit, sandbox, readSizes };
}

const saying =
  (value: unknown): Forge =>
  (requestId) =>
    JSON.stringify({ requestId, ok: true, value });

const unavailable = (message: RegExp = /./): object => ({
  name: 'ChannelUnavailableError',
  message: expect.stringMatching(message) as string,
});

const RESULT = {
  version: 1,
  jobId: JOB,
  end: 'exited',
  exitCode: 0,
  signal: null,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.000Z',
  durationSeconds: 1,
  stdoutBytes: 0,
  stderrBytes: 0,
  stdoutTruncated: false,
  stderrTruncated: false,
  confirmedDead: true,
  survivors: 0,
  message: null,
  transferredFiles: 0,
  transferredBytes: 0,
  sha256OfManifest: null,
};
const finished = (changes: object = {}): unknown => ({ state: 'finished', result: { ...RESULT, ...changes } });

describe('a reply that is forged', () => {
  it.each<[string, Forge]>([
    ['empty', () => ''],
    ['no JSON', () => '{"requestId":'],
    ['no UTF-8', () => new Uint8Array([0xff, 0xfe, 0x00])],
    ['null', () => 'null'],
    ['a list', () => '[]'],
    ['nested without end', () => '['.repeat(200_000)],
    ['to another request', () => JSON.stringify({ requestId: 'other', ok: true, value: { state: 'unknown' } })],
    ['neither well nor not', (requestId) => JSON.stringify({ requestId, value: { state: 'unknown' } })],
    ['an error without words', (requestId) => JSON.stringify({ requestId, ok: false })],
    ['an error of objects', (requestId) => JSON.stringify({ requestId, ok: false, error: {}, message: [] })],
  ])('is a guest that is not available: %s', async (_, forge) => {
    const { kit, sandbox } = await openForger(forge);
    await expect(kit.channel.status(sandbox, JOB)).rejects.toMatchObject(unavailable(/repl/));
  });

  it('that is missing is none, also where S3 hides that from who may not list its bucket', async () => {
    const { kit, sandbox } = await openForger(() => 'null');
    const hidden = Object.assign(new Error('Access Denied'), {
      name: 'AccessDenied',
      $metadata: { httpStatusCode: 403 },
    });
    vi.spyOn(kit.served.store, 'get').mockRejectedValue(hidden);
    await expect(kit.channel.status(sandbox, JOB)).rejects.toMatchObject(unavailable(/left no reply$/));
  });

  it('has its words cut', async () => {
    const words = { ok: false, error: 'E'.repeat(9_000), message: 'm'.repeat(100_000) };
    const { kit, sandbox } = await openForger((requestId) => JSON.stringify({ requestId, ...words }));
    const asked = kit.channel.status(sandbox, JOB);
    await expect(asked).rejects.toMatchObject(unavailable(/: E{100}: m{2000}$/));
  });
});

describe('a reply that is too large', () => {
  const KIB = 1024;
  const MIB = KIB * KIB;

  it('is refused however it came there, and never read whole', async () => {
    const { kit, sandbox, readSizes } = await openForger(() => Buffer.alloc(MIB, ' '));
    await expect(kit.channel.status(sandbox, JOB)).rejects.toMatchObject(unavailable(/more than the 262144 bytes/));
    expect(readSizes).toEqual([256 * KIB + 1]);
  });

  it('cannot be put either, but for what is called', async () => {
    const { kit, sandbox } = await openForger(() => 'null');
    const signing = vi.spyOn(kit.served.store, 'signUpload');
    const { channel } = kit;
    const job = sleepJob(0);
    const verbs = [
      () => channel.start(sandbox, job),
      () => channel.status(sandbox, JOB),
      () => channel.stop(sandbox, JOB),
      () => channel.firstLine(sandbox, job.jobId, 1),
      () => channel.call(sandbox, [{ command: 'version', params: {} }], 5),
    ];
    for (const verb of verbs) await expect(verb()).rejects.toMatchObject(unavailable());
    const limits = signing.mock.calls.map(([, , , limit]) => limit);
    expect(limits).toEqual([256 * KIB, 256 * KIB, 256 * KIB, 256 * KIB, 64 * MIB]);
  });
});

describe('what a forged reply says', () => {
  it.each<[string, unknown]>([
    ['nothing', null],
    ['text', 'finished'],
    ['a state that there is not', { state: 'gone' }],
    ['no result', { state: 'finished', result: null }],
    ['a result without most of it', { state: 'finished', result: { version: 1, end: 'exited', exitCode: 0 } }],
    ['another job’s result', finished({ jobId: 'demo__y.1~run' })],
    ['another version’s', finished({ version: 2 })],
    ['an end that there is not', finished({ end: 'won' })],
    ['an exit code that is none', finished({ exitCode: 1e300 })],
    ['a part of a process', finished({ survivors: 0.5 })],
    ['fewer bytes than none', finished({ stdoutBytes: -1 })],
    ['time without end', finished({ durationSeconds: 1e300 })],
    ['no time', finished({ endedAt: 'soon' })],
    ['a long time', finished({ endedAt: `2026-01-01T00:00:00.${'0'.repeat(10_000)}Z` })],
    ['a long signal', finished({ signal: 'S'.repeat(10_000) })],
    ['no hash', finished({ sha256OfManifest: '../x' })],
    ['running since nothing', { state: 'running' }],
    ['running since a number', { state: 'running', startedAt: 5 }],
  ])('of a job’s status is checked: %s', async (_, value) => {
    const { kit, sandbox } = await openForger(saying(value));
    await expect(kit.channel.status(sandbox, JOB)).rejects.toMatchObject(unavailable(/not as agreed/));
  });

  it('is taken without what nobody knows, and its message cut', async () => {
    const value = finished({ message: 'm'.repeat(50_000), verdict: { retry: true } });
    const { kit, sandbox } = await openForger(saying(value));
    const status = await kit.channel.status(sandbox, JOB);
    expect(status).toEqual({ state: 'finished', result: { ...RESULT, message: 'm'.repeat(4_000) } });
  });

  it.each<[string, unknown]>([
    ['nothing', null],
    ['text for yes', { confirmedDead: 'true', survivors: 0 }],
    ['too many', { confirmedDead: false, survivors: 1e15 }],
    ['fewer than none', { confirmedDead: false, survivors: -1 }],
    ['names without end', { confirmedDead: false, survivors: 21, left: Array(21).fill('process 1 a') }],
    ['names that are none', { confirmedDead: false, survivors: 1, left: [1] }],
    ['a doubt that is no text', { confirmedDead: false, survivors: 0, unsure: true }],
  ])('of a stop is checked: %s', async (_, value) => {
    const { kit, sandbox } = await openForger(saying(value));
    await expect(kit.channel.stop(sandbox, JOB)).rejects.toMatchObject(unavailable(/stop is not as agreed/));
  });

  it('of a stop names what survived, in short; its account was named to the machine', async () => {
    const seen = { confirmedDead: false, survivors: 1 };
    const { kit, sandbox } = await openForger(saying({ ...seen, left: ['p'.repeat(500)], unsure: 'u'.repeat(5_000) }));
    const put = vi.spyOn(kit.served.store, 'put');
    const agent = { name: 'User', uid: null, gid: null, home: 'C:\\Users\\User' };
    const report = await kit.channel.stop({ ...sandbox, os: 'windows', agent }, JOB);
    expect(report).toEqual({ ...seen, left: ['p'.repeat(100)], unsure: 'u'.repeat(2_000) });
    const verbs = put.mock.calls.flatMap(([{ key }, text]) =>
      key.endsWith('/request.json') ? (JSON.parse(String(text)) as { verb: unknown }).verb : [],
    );
    expect(verbs).toEqual([{ kind: 'stop', jobId: JOB, uid: null, account: 'User' }]);
  });

  it.each<[string, unknown]>([
    ['nothing', null],
    ['no status', { line: 'a', stderr: '' }],
    ['a number', { line: 5, stderr: '', status: { state: 'unknown' } }],
    ['a long line', { line: 'a'.repeat(5_000), stderr: '', status: { state: 'unknown' } }],
    ['long errors', { line: null, stderr: 'a'.repeat(2_001), status: { state: 'unknown' } }],
    ['another job', { line: null, stderr: '', status: finished({ jobId: 'other' }) }],
  ])('of a job’s first line is checked: %s', async (_, value) => {
    const { kit, sandbox } = await openForger(saying(value));
    const asked = kit.channel.firstLine(sandbox, JOB, 1);
    await expect(asked).rejects.toMatchObject(unavailable(/first-line is not as agreed/));
  });

  it.each<[string, unknown]>([
    ['nothing', null],
    ['an object', { length: 1, 0: { success: true } }],
    ['too few', []],
    ['too many', [{ success: true }, { success: true }]],
    ['very many', Array(1_000_000).fill(1)],
    ['no result', [null]],
    ['text for yes', [{ success: 'true' }]],
    ['a failure without words', [{ success: false }]],
  ])('of what was called is checked: %s', async (_, value) => {
    const { kit, sandbox } = await openForger(saying(value));
    const called = kit.channel.call(sandbox, [{ command: 'version', params: {} }], 5);
    await expect(called).rejects.toMatchObject(unavailable(/rpc is not as agreed/));
  });

  it('of a start is nothing', async () => {
    const { kit, sandbox } = await openForger(saying({ state: 'finished' }));
    await expect(kit.channel.start(sandbox, sleepJob(0))).rejects.toMatchObject(unavailable(/start is not as agreed/));
  });
});

describe('a hello that is forged', () => {
  const STATE = { hasConsoleSession: null, answersCua: false, isScreenBlack: null };

  async function saidHello(said: unknown) {
    const kit = await SsmKit.open();
    open.push(kit);
    kit.ssm.says = typeof said === 'string' ? said : JSON.stringify(said);
    return await kit.channel.readiness?.(kit.sandbox());
  }

  it.each<[string, unknown]>([
    ['nothing', ''],
    ['no JSON', '{'],
    ['null', null],
    ['no state', { version: 1, publicKey: KEY, state: null }],
    ['half a state', { version: 1, publicKey: KEY, state: { answersCua: 'yes' } }],
    ['a short key', { version: 1, publicKey: KEY.slice(4), state: STATE }],
    ['a long key', { version: 1, publicKey: `${KEY}AAAA`, state: STATE }],
    ['a key in other letters', { version: 1, publicKey: `${KEY}=`, state: STATE }],
    ['no version', { publicKey: KEY, state: STATE }],
  ])('is none, and a runner is waited for: %s', async (_, said) => {
    expect(await saidHello(said)).toEqual({ state: 'waiting', waitsFor: 'runner' });
  });

  it('is taken when it is as agreed, and of another version whatever else it says', async () => {
    const hello = { version: 1, publicKey: KEY, state: STATE };
    expect(await saidHello(hello)).toEqual({ state: 'ready', sealingKey: KEY });
    expect(await saidHello({ version: 2, state: null })).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/version 2/) as string,
    });
  });

  it.each([Buffer.alloc(32).toString('base64url'), 'AAAA'])(
    'may have told a key that nothing can be sealed with: %s',
    async (sealingKey) => {
      const kit = await SsmKit.open();
      open.push(kit);
      const sandbox = kit.sandbox({ sealingKey });
      await expect(kit.channel.status(sandbox, JOB)).rejects.toMatchObject(unavailable(/nothing can be sealed/));
    },
  );
});
