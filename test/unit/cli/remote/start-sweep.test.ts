import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadExperiment } from '#cli/config/load-experiment';
import { startKey } from '#cli/remote/start-key';
import { startSweep } from '#cli/remote/start-sweep';
import { sweepWish, type SweepWish } from '#cli/remote/sweep-body';
import { ConfigError } from '#core/located';
import { testGround, writeExperiment, type TestGround } from '../../../e2e/experiment-files.ts';
import { SWEEP_ID } from './api-answers.ts';
import { clientOf, problem, RawAnswer, startFakeApi, type FakeApi, type FakeHandlers } from './fake-api.ts';

const NOW = new Date('2026-01-02T03:04:05.000Z');
const STARTED = {
  sweepId: SWEEP_ID,
  dryRun: false,
  plannedUnits: 1,
  agents: [],
  tasks: [],
  largestCostUsd: null,
  warnings: [],
};

let state = '';
let ground: TestGround;
let api: FakeApi | null = null;

beforeEach(() => {
  state = mkdtempSync(path.join(os.tmpdir(), 'examhall-state-'));
  ground = testGround();
});
afterEach(async () => {
  await api?.close();
  api = null;
  rmSync(state, { recursive: true, force: true });
  ground.remove();
});

const keyAt = async (body: unknown, now = NOW) =>
  await startKey('http://127.0.0.1/', body, { env: { XDG_STATE_HOME: state }, now });
const later = (hours: number): Date => new Date(NOW.getTime() + hours * 3_600_000);

async function fake(handlers: FakeHandlers): Promise<FakeApi> {
  return (api = await startFakeApi(handlers));
}

async function wishOf(more = '', secrets: readonly string[] = []): Promise<SweepWish> {
  const file = writeExperiment(ground, {
    name: 'first',
    agents: ['oracle'],
    tasks: [
      ['e2e/word', [0, 2]],
      ['e2e/word', [1]],
    ],
    more,
  });
  const { experiment } = await loadExperiment(file, { env: {}, cwd: ground.folder });
  return sweepWish(experiment, { filter: { agents: [], tasks: [] }, costCenter: 'research', dryRun: false, secrets });
}

describe('the key of a start', () => {
  it('is another for each start that was answered', async () => {
    const first = await keyAt({ name: 'a' });
    await first.settle();
    const second = await keyAt({ name: 'a' });
    expect(second.key).not.toBe(first.key);
    expect([first.repeats, second.repeats]).toEqual([null, null]);
  });

  it('is the same again while there was no answer, for as long as the host remembers it', async () => {
    const first = await keyAt({ name: 'a' });
    expect(await keyAt({ name: 'a' }, later(22))).toMatchObject({ key: first.key, repeats: NOW.toISOString() });
    expect((await keyAt({ name: 'a' }, later(24))).key).not.toBe(first.key);
    expect((await keyAt({ name: 'b' })).key).not.toBe(first.key);
  });

  it('is kept where only its owner can read it', async () => {
    await keyAt({ name: 'a' });
    const folder = path.join(state, 'examhall', 'starts');
    const [file = ''] = readdirSync(folder);
    expect([statSync(folder).mode & 0o777, statSync(path.join(folder, file)).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it('is one for several commands at once', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, async () => (await keyAt({ name: 'a' })).key));
    expect(new Set(keys).size).toBe(1);
  });
});

describe('starting a sweep', () => {
  it('sends the same key for as often as the answer is lost, and forgets it with the answer', async () => {
    let asked = 0;
    const host = await fake({
      startSweep: () => ((asked += 1) < 3 ? new RawAnswer(504, '{"message":"Endpoint request timed out"}') : STARTED),
    });
    const wish = await wishOf();
    const key = await keyAt(wish.body);
    expect(await startSweep({ client: clientOf(host), wish, key })).toEqual(STARTED);
    expect(host.calls.map(({ headers }) => headers['idempotency-key'])).toEqual([key.key, key.key, key.key]);
    expect((await keyAt(wish.body)).repeats).toBeNull();
  });

  it('keeps the key when no answer came at all', async () => {
    const host = await fake({ startSweep: () => new RawAnswer(503, '{}') });
    const wish = await wishOf();
    const key = await keyAt(wish.body);
    await expect(startSweep({ client: clientOf(host), wish, key })).rejects.toMatchObject({ kind: 'host' });
    expect(await keyAt(wish.body)).toMatchObject({ key: key.key, repeats: NOW.toISOString() });
  });

  it.each(['tasks[0].path', 'tasks.0.path', 'body.tasks.0.path'])(
    'tells what is refused at %s where it is written',
    async (at) => {
      const refusal = problem(422, 'RequestRefusedError', 'refused', [
        { path: at, message: 'there is no published task e2e/word' },
      ]);
      const host = await fake({ startSweep: () => refusal });
      const wish = await wishOf();
      const error: unknown = await startSweep({ client: clientOf(host), wish, key: await keyAt(wish.body) }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(ConfigError);
      expect(String(error)).toMatch(
        /experiments\/first\/experiment\.yaml:6:\d+: the host refuses "tasks\[0\]\.path"; got "e2e\/word"; allowed: there is no/u,
      );
    },
  );
});

describe('what an experiment asks a host for', () => {
  it('has each task once, with all variants', async () => {
    const { body } = await wishOf();
    expect(body.tasks).toEqual([{ path: 'e2e/word', variants: [0, 2, 1] }]);
    expect(body).toMatchObject({ name: 'first', costCenter: 'research', collectOutput: true, dryRun: false });
    expect(body.snapshots['cpu-free-ubuntu']).toMatchObject({ provider: 'process', os: 'linux' });
  });

  it('is refused where the API has narrower bounds, with the value', async () => {
    await expect(wishOf('trials: 500\n')).rejects.toThrow(/"trials"; got 500/u);
  });

  it('never has a secret in it', async () => {
    const file = writeExperiment(ground, { name: 'secretive', agents: ['oracle'], tasks: [['e2e/word', [0]]] });
    for (const [config, secrets] of [
      ['api_key: abcdefghijkl', []],
      ['note: hunter2hunter2', ['hunter2hunter2']],
    ] as const) {
      ground.write('experiments/secretive/oracle.yaml', `harness: oracle\nconfig: {${config}}\n`);
      const { experiment } = await loadExperiment(file, { env: {}, cwd: ground.folder });
      const make = () =>
        sweepWish(experiment, { filter: { agents: [], tasks: [] }, costCenter: 'c', dryRun: false, secrets });
      expect(make).toThrow('holds a secret');
      expect(make).not.toThrow(/abcdefghijkl|hunter2/u);
    }
  });
});
