import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCuaClient } from '#adapters/cua-client';
import { CuaGuest } from '#adapters/cua-channel-guest';
import type { Sandbox } from '#ports/sandbox-provider';
import { StaticKit } from '#test/builders/static-kit';

const JOB = 'demo__x.1~run';
const LIMITS = { maxFiles: 2, maxFileMiB: 1, maxTotalMiB: 1 };
const ROOTS = [{ path: '/out', keyPrefix: 'output/', as: 'agent' }] as const;

const listing = (entries: readonly unknown[], keyPrefix = 'output/') => ({
  roots: [{ keyPrefix, missing: false, entries }],
});
const file = (changes: object = {}) => ({
  file: { path: 'a', absolute: '/out/a', key: 'a', sizeBytes: 1, ...changes },
});
const RESULT = {
  ...{ version: 1, jobId: JOB, end: 'exited', exitCode: 0, signal: null, message: null, sha256OfManifest: null },
  ...{ startedAt: '2026-01-01T00:00:00.000Z', endedAt: '2026-01-01T00:00:01.000Z', durationSeconds: 1 },
  ...{ stdoutBytes: 0, stderrBytes: 0, stdoutTruncated: false, stderrTruncated: false },
  ...{ confirmedDead: true, survivors: 0, transferredFiles: 0, transferredBytes: 0 },
};

describe('a machine that is reached by its server alone, and whose root answers what they like', () => {
  let kit: StaticKit;
  let guest: CuaGuest;
  let jobFolder: string;

  beforeAll(async () => {
    kit = await StaticKit.open(1);
    const sandbox: Sandbox = await kit.acquire();
    guest = new CuaGuest(sandbox, createCuaClient({ url: sandbox.endpoint ?? '' }));
    jobFolder = path.join(guest.jobs, JOB);
  });
  afterAll(async () => {
    guest.client.close();
    await kit.remove();
  });

  /** From now on the runner says this, whatever it is asked. */
  function forge(said: unknown): void {
    const text = typeof said === 'string' ? said : JSON.stringify(said);
    writeFileSync(path.join(guest.folder, 'runner.mjs'), `process.stdout.write(${JSON.stringify(text)})`);
  }

  const unavailable = (what: string): object => ({
    name: 'ChannelUnavailableError',
    message: expect.stringMatching(new RegExp(`what it answers to ${what} is not as agreed: `, 'u')) as string,
  });

  const list = () => guest.list({ roots: ROOTS, limits: LIMITS }, AbortSignal.timeout(20_000));

  it.each<[string, unknown]>([
    ['no JSON', 'dead'],
    ['nothing', null],
    ['text for yes', { confirmedDead: 'true', survivors: 0 }],
    ['fewer than none', { confirmedDead: true, survivors: -1 }],
  ])('is not believed about a stop: %s', async (_, said) => {
    forge(said);
    await expect(guest.stop(JOB)).rejects.toMatchObject(unavailable('stop'));
    await expect(guest.close()).rejects.toMatchObject(unavailable('close'));
  });

  it.each<[string, unknown]>([
    ['no state', {}],
    ['the end of another job', { state: 'finished', result: { ...RESULT, jobId: 'other' } }],
    ['a start that is no time', { state: 'running', startedAt: 'soon' }],
  ])('is not believed about a job: %s', async (_, said) => {
    forge(said);
    await expect(guest.status(JOB)).rejects.toMatchObject(unavailable('status'));
  });

  it('is not believed about the result that lies in the folder of a job either', async () => {
    mkdirSync(jobFolder, { recursive: true });
    writeFileSync(path.join(jobFolder, 'result.json'), JSON.stringify({ ...RESULT, exitCode: '0' }));
    await expect(guest.status(JOB)).rejects.toMatchObject(unavailable('the result of a job'));
    writeFileSync(path.join(jobFolder, 'result.json'), JSON.stringify({ ...RESULT, verdict: 'passed' }));
    expect(await guest.status(JOB)).toEqual({ state: 'finished', result: RESULT });
    rmSync(jobFolder, { recursive: true });
  });

  it.each<[string, unknown]>([
    ['of no folder', { roots: [] }],
    ['of another folder', listing([file()], '../other/')],
    ['with a name that leads elsewhere', listing([file({ key: '../../record.json' })])],
    ['with a name of anything', listing([file({ key: 'a b' })])],
    ['with an upload that nobody made', listing([{ settled: { ...entry(), key: 'a/b' } }])],
    ['with a larger file than is allowed', listing([file({ sizeBytes: 1024 * 1024 + 1 })])],
    ['with more files', listing([file(), file({ key: 'b' }), file({ key: 'c' })])],
    ['with more in all', listing([file({ sizeBytes: 600_000 }), file({ key: 'b', sizeBytes: 600_000 })])],
    ['without sizes', listing([file({ sizeBytes: null })])],
  ])('is not believed about a listing: %s', async (_, said) => {
    forge(said);
    await expect(list()).rejects.toMatchObject(unavailable('list'));
  });

  it('is believed about what can be so', async () => {
    const good = listing([file(), { settled: entry() }, file({ key: `%%${'0'.repeat(64)}`, absolute: null })]);
    forge({ ...good, more: 'words' });
    expect(await list()).toEqual(good);
    forge({ confirmedDead: false, survivors: 2 });
    expect(await guest.stop(JOB)).toEqual({ confirmedDead: false, survivors: 2 });
  });
});

function entry() {
  return { path: 'l', kind: 'link', sizeBytes: 0, sha256: null, key: null, target: '/etc', skipped: null };
}
