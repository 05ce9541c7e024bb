import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { bundleDesktopBridge, bundlePrimitivesBridge } from '#local/sandboxes/guest-bundle';
import { openBenchServer } from './desktop-server.ts';
import {
  bridgeWay,
  clientWay,
  loopbackWay,
  pythonWay,
  rawWay,
  sizeKiB,
  startUpMilliseconds,
  type Way,
} from './desktop-ways.ts';

const ROUNDS = 25;
const TRANSFER_ROUNDS = 3;
const SIZES_MIB = [1, 8, 64];
const MIB = 1024 * 1024;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const row = (cells: readonly string[]): string =>
  cells.map((cell, index) => (index === 0 ? cell.padEnd(22) : cell.padStart(16))).join('');

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

async function millisecondsOf(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

interface Measured {
  readonly way: Way;
  readonly work: () => Promise<void>;
}

/** Medians side by side: in each round every way has its turn, so that whatever else goes on meets all of them. */
async function compare(ways: readonly Measured[], rounds: number): Promise<Map<Way, number>> {
  const times = new Map(ways.map(({ way }) => [way, [] as number[]]));
  for (const { work } of ways) await work();
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < ways.length; turn += 1) {
      const next = ways[(turn + round) % ways.length];
      if (next !== undefined) times.get(next.way)?.push(await millisecondsOf(next.work));
    }
  }
  return new Map([...times].map(([way, values]) => [way, median(values)]));
}

function table(medians: ReadonlyMap<Way, number>, show: (milliseconds: number) => string): void {
  const [first = Number.NaN] = medians.values();
  for (const [way, milliseconds] of medians) {
    say(row([way.name, show(milliseconds), `x${(milliseconds / first).toFixed(2)}`]));
  }
}

async function roundTrips(ways: readonly Way[]): Promise<void> {
  const kinds = [
    ['screenshot', 'screenshot'],
    ['click', 'click where the pointer is'],
    ['clickAt', 'click at a coordinate (the bridge asks for the size of the screen first)'],
  ] as const;
  for (const [kind, title] of kinds) {
    const measured = ways.flatMap((way) => {
      const work = way[kind];
      return work === undefined ? [] : [{ way, work: () => work.call(way) }];
    });
    say(`\n${title}, median of ${String(ROUNDS)}`);
    table(await compare(measured, ROUNDS), (time) => `${time.toFixed(2)} ms  ${(1000 / time).toFixed(1)}/s`);
  }
}

async function transfers(ways: readonly Way[], folder: string): Promise<void> {
  for (const sizeMiB of SIZES_MIB) {
    const bytes = randomBytes(sizeMiB * MIB);
    const local = path.join(folder, 'local.bin');
    const remote = path.join(folder, 'remote.bin');
    writeFileSync(local, bytes);
    const show = (time: number): string => `${(bytes.length / 1e3 / time).toFixed(1)} MB/s`;
    for (const kind of ['upload', 'download'] as const) {
      const measured = ways.flatMap((way) => {
        const { upload, download } = way;
        if (upload === undefined || download === undefined) return [];
        const work = (): Promise<void> =>
          kind === 'upload' ? upload(local, bytes, remote) : download(remote, bytes.length);
        return [{ way, work }];
      });
      say(`\n${kind} of ${String(sizeMiB)} MiB, median of ${String(TRANSFER_ROUNDS)}`);
      table(await compare(measured, TRANSFER_ROUNDS), show);
    }
  }
}

async function startUps(files: Readonly<Record<string, string>>): Promise<void> {
  say('\nstart to first answer, median of 5; x is against `node -e 0`');
  const bare: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const begun = performance.now();
    spawnSync(process.execPath, ['-e', '0']);
    bare.push(performance.now() - begun);
  }
  say(row(['node -e 0', `${median(bare).toFixed(0)} ms`, 'x1.00']));
  for (const [name, file] of Object.entries(files)) {
    const taken: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) taken.push(await startUpMilliseconds(file));
    const times = (median(taken) / median(bare)).toFixed(2);
    say(row([name, `${median(taken).toFixed(0)} ms`, `x${times}`, `${sizeKiB(file).toFixed(0)} KiB`]));
  }
}

/**
 * `npm run bench -- desktop`: what the bridge and the client add to a bare request, and how fast files move. Everything is
 * measured in one run; ratios are against the first line of each table. Nothing here passes or fails.
 */
export async function benchDesktop(): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-bench-'));
  const server = await openBenchServer();
  const ways: Way[] = [];
  try {
    say(`server: ${server.description}`);
    const bridge = (await bundleDesktopBridge(folder)).path;
    const primitives = (await bundlePrimitivesBridge(folder)).path;
    ways.push(rawWay(server.url), clientWay(server.url), await bridgeWay(server.url, bridge), await loopbackWay());
    const python = await pythonWay(server.url, server.python);
    if (typeof python === 'string') say(`skipped: the Python client, since ${python}`);
    else ways.push(python);
    const [raw, client, viaBridge, loopback, ...others] = ways as [Way, Way, Way, Way, ...Way[]];
    await roundTrips([raw, client, viaBridge, ...others]);
    await transfers([loopback, client, ...others], folder);
    await startUps({ 'cua-desktop': bridge, 'vm-primitives': primitives });
  } finally {
    for (const way of ways) await way.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
