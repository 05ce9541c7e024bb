import { createHash, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { sealFor } from '#adapters/ssm-seal';
import { GUEST_CONTRACT_VERSION, type GuestHello, type GuestRequest } from '#contracts/guest';
import { SEAL_MARK } from '#contracts/guest-seal';
import { guestDocument, HELLO_REQUEST, REQUEST_MAX_LETTERS } from '#core/guest-documents';
import { ensureKey } from '#guest/guest-key';
import { fetchRequest, openSealed } from '#guest/sealed-request';
import { openServedArtifacts, type ServedArtifacts } from '#local/stores/served-artifacts';
import { SsmKit } from '#test/builders/ssm-kit';
import { runnerCli } from '#test/unit/guest/guest-kit';

let folder: string;
let served: ServedArtifacts;
beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-seal-'));
  served = await openServedArtifacts(path.join(folder, 'store'), Date.now);
});
afterAll(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

const sealingKeyOf = (state: string): string => ensureKey(state).publicKey.toString('base64url');
const CONTENT = { url: 'https://bucket.example/key?signature=abc', sha256: 'a'.repeat(64) };

describe('a sealed request', () => {
  it('opens for the guest it was sealed for, and looks like nothing', () => {
    const key = ensureKey(path.join(folder, 'own'));
    const sealed = sealFor(key.publicKey.toString('base64url'), CONTENT);
    expect(openSealed(sealed, key)).toEqual(CONTENT);
    expect(sealed).not.toContain(Buffer.from('bucket').toString('base64url'));
    expect(sealFor(key.publicKey.toString('base64url'), CONTENT)).not.toBe(sealed);
    const pattern = JSON.stringify(guestDocument('run')).match(/"allowedPattern":"([^"]+)"/)?.[1] ?? '';
    expect(sealed).toMatch(new RegExp(pattern));
    expect(HELLO_REQUEST).toMatch(new RegExp(pattern));
    expect(`x'; rm -rf / #`).not.toMatch(new RegExp(pattern));
  });

  it('fits into the parameter with the longest URL that is signed for a role', () => {
    const sealed = sealFor(sealingKeyOf(path.join(folder, 'own')), {
      ...CONTENT,
      url: `https://x/${'t'.repeat(5_000)}`,
    });
    expect(sealed.length).toBeLessThanOrEqual(REQUEST_MAX_LETTERS);
  });

  it('is not sent when it is longer than that', async () => {
    const kit = await SsmKit.open();
    try {
      const { store } = kit.served;
      vi.spyOn(store, 'signGet').mockResolvedValue(`https://x/${'t'.repeat(REQUEST_MAX_LETTERS)}`);
      const sandbox = kit.sandbox({ sealingKey: sealingKeyOf(path.join(folder, 'own')) });
      await expect(kit.channel.status(sandbox, 'a.1~run')).rejects.toMatchObject({
        name: 'ChannelUnavailableError',
        message: expect.stringMatching(/has \d+ letters, and 8192 are allowed/u) as string,
      });
      expect(kit.ssm.sent).toEqual([]);
    } finally {
      await kit.remove();
    }
  });

  it('opens for no other guest', () => {
    const sealed = sealFor(sealingKeyOf(path.join(folder, 'own')), CONTENT);
    expect(() => openSealed(sealed, ensureKey(path.join(folder, 'other')))).toThrow(/does not open/);
  });

  it('does not open once any byte of it is changed, left out or added', () => {
    const key = ensureKey(path.join(folder, 'own'));
    const whole = sealFor(key.publicKey.toString('base64url'), CONTENT);
    const sealed = Buffer.from(whole.slice(SEAL_MARK.length), 'base64url');
    const written = (bytes: Buffer): string => `${SEAL_MARK}${bytes.toString('base64url')}`;
    expect(openSealed(written(sealed), key)).toEqual(CONTENT);
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(sealed);
        changed[at] = (changed[at] ?? 0) ^ change;
        // The top bit of an X25519 key is not part of it, but of what the seal is bound to.
        expect(() => openSealed(written(changed), key)).toThrow(/does not open/);
      }),
      { numRuns: 300 },
    );
    for (const other of [sealed.subarray(0, -1), Buffer.concat([sealed, Buffer.of(0)]), sealed.subarray(0, 40)])
      expect(() => openSealed(written(other), key)).toThrow(/RequestRefusedError|does not open|too short/);
  });

  it('is no option of a command line, and opens only by its mark', () => {
    const key = ensureKey(path.join(folder, 'own'));
    const sealed = sealFor(key.publicKey.toString('base64url'), CONTENT);
    expect(sealed).toMatch(/^s1/);
    expect(() => openSealed(sealed.slice(2), key)).toThrow(/does not begin with s1|does not open/);
  });

  it('is refused for a key of another length', () => {
    expect(() => sealFor('AAAA', CONTENT)).toThrow(/32 bytes/);
  });
});

describe('the runner’s hello', () => {
  it('makes the key once, readable by nobody else, and prints one short line', async () => {
    const state = path.join(folder, 'hello');
    const first = await runnerCli(['request', state, 'hello', '--cua', 'http://127.0.0.1:1']);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout.length).toBeLessThan(1_024);
    const said = JSON.parse(first.stdout) as GuestHello;
    expect(said).toEqual({
      version: GUEST_CONTRACT_VERSION,
      publicKey: sealingKeyOf(state),
      state: { hasConsoleSession: null, answersCua: false, isScreenBlack: null, screenSize: null, screenNote: null },
    });
    expect(statSync(path.join(state, 'key')).mode & 0o777).toBe(0o600);
    expect(statSync(path.join(state, 'jobs')).mode & 0o777).toBe(0o700);
    const again = await runnerCli(['request', state, 'hello', '--cua', 'http://127.0.0.1:1']);
    expect(again.stdout).toBe(first.stdout);
  });

  it('gives all of several first callers the same key', async () => {
    const state = path.join(folder, 'race');
    const all = await Promise.all(
      Array.from({ length: 4 }, () => runnerCli(['request', state, 'hello', '--cua', 'http://127.0.0.1:1'])),
    );
    expect(new Set(all.map(({ stdout }) => stdout)).size).toBe(1);
  });

  it('says so when the file holds another kind of key', async () => {
    const state = path.join(folder, 'odd');
    ensureKey(state);
    const pem = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' });
    writeFileSync(path.join(state, 'key'), pem);
    const said = await runnerCli(['request', state, 'hello']);
    expect(said).toMatchObject({ code: 1, stderr: expect.stringMatching(/no X25519 key/) as string });
  });
});

describe('a request to the runner', () => {
  let state: string;
  beforeEach(() => {
    state = mkdtempSync(path.join(folder, 'state-'));
    ensureKey(state);
  });
  afterEach(() => rmSync(state, { recursive: true }));

  const REPLY = { bucket: 'artifacts', key: 'attempts/a.1/guest/r/reply.json' } as const;

  async function request(changes: Partial<GuestRequest>, sha256?: string): Promise<string> {
    const grant = await served.store.signUpload('artifacts', REPLY.key, 60, 1_000_000);
    const whole: GuestRequest = {
      version: GUEST_CONTRACT_VERSION,
      requestId: 'r',
      validUntil: new Date(Date.now() + 60_000).toISOString(),
      verb: { kind: 'status', jobId: 'nobody' },
      reply: { ...grant, key: REPLY.key },
      ...changes,
    };
    const ref = { bucket: 'artifacts', key: 'attempts/a.1/guest/r/request.json' } as const;
    const text = JSON.stringify(whole);
    await served.store.put(ref, text);
    const url = await served.store.signGet(ref, 60);
    return sealFor(sealingKeyOf(state), { url, sha256: sha256 ?? createHash('sha256').update(text).digest('hex') });
  }

  const reply = async (): Promise<unknown> => {
    if ((await served.store.head(REPLY)) === undefined) return undefined;
    const bytes = await served.store.get(REPLY);
    await served.store.remove(REPLY);
    return JSON.parse(new TextDecoder().decode(bytes));
  };

  it('is done, and its answer put where it says and nowhere else', async () => {
    const done = await runnerCli(['request', state, await request({})]);
    expect(done).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await reply()).toEqual({ requestId: 'r', ok: true, value: { state: 'unknown' } });
  });

  it('answers what its verb throws', async () => {
    const verb = { kind: 'status', jobId: '../escape' } as const;
    expect(await runnerCli(['request', state, await request({ verb })])).toMatchObject({ code: 0 });
    expect(await reply()).toMatchObject({ ok: false, error: 'JobInputError' });
  });

  it.each([
    ['that is older than it may be', { validUntil: new Date(Date.now() - 1_000).toISOString() }, undefined],
    ['whose time is none', { validUntil: 'soon' }, undefined],
    ['that is not the one that was sealed', {}, 'b'.repeat(64)],
    ['of another version', { version: 2 as typeof GUEST_CONTRACT_VERSION }, undefined],
  ])('is refused and not done when it is one %s', async (_, changes, sha256) => {
    const verb = { kind: 'start', job: { ...JOB } } as const;
    const refused = await runnerCli(['request', state, await request({ verb, ...changes }, sha256)]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/RequestRefusedError|JobInputError/);
    expect(await reply()).toBeUndefined();
    expect(existsSync(path.join(state, 'jobs', JOB.jobId))).toBe(false);
  });

  it('may come twice within its time, and the same words are refused after it', async () => {
    const validUntil = '2026-01-01T00:10:00.000Z';
    const content = openSealed(await request({ validUntil }), ensureKey(state));
    const at = (time: string): Promise<GuestRequest> => fetchRequest(content, new Date(`2026-01-01T${time}Z`));
    expect(await at('00:00:00')).toEqual(await at('00:10:00'));
    await expect(at('00:10:01')).rejects.toThrow(/valid until/);
  });

  it('is refused by a guest that has not said hello', async () => {
    const sealed = await request({});
    rmSync(path.join(state, 'key'));
    expect(await runnerCli(['request', state, sealed])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no key/) as string,
    });
    expect(existsSync(path.join(state, 'key'))).toBe(false);
  });
});

const JOB = {
  version: GUEST_CONTRACT_VERSION,
  kind: 'exec',
  jobId: 'should-not-run',
  wallSeconds: 5,
  account: null,
  isolation: { kind: 'none' },
  argv: ['true'],
  env: {},
  cwd: '/',
  stdin: null,
  outputLimitMiB: 1,
} as const;
