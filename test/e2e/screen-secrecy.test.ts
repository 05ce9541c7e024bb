import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { decodePng, findRegions, readBitmapText } from '#sdk';
import { tier } from '#test/runner/tier';
import { attemptSecret } from './attempt-secret.ts';
import { endAllCli } from './cli-process.ts';
import { testGround, writeAgent } from './experiment-files.ts';
import { later, sweep, type SweptExperiment } from './swept-experiment.ts';
import { codeOf } from '../../tasks/demo/hello/codes.ts';
import { FONT } from '../../tasks/demo/hello/font.ts';
import { ORDERS } from '../../tasks/demo/hello/layouts.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 400_000 });

const { orderNumber: ORDER, layout: LAYOUT } = ORDERS[0] ?? expect.fail('there are no orders');
/** Looks like a code; the probe makes it at run time, so that it lies only where the probe puts it. */
const CANARY = ['CANA', 'RYXX'].join('-');

/**
 * Lists everything that could be a code or a key in what it can read: files outside programs, command lines, environments
 * and the memory of every process that lets it. Prints JSON; runs wherever Node does.
 */
const SCAN = `import { closeSync, lstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
const CODE = /^[34679A-Z]{4}-[34679A-Z]{4}$/;
const KEY = /[0-9a-f]{64}/g;
const SKIPPED = new Set(['/proc', '/sys', '/usr', '/lib', '/lib64', '/bin', '/sbin', '/opt']);
const found = new Set();
const keys = new Set();
const commands = [];
const read = { files: 0, processes: 0, memoryMiB: 0 };
function takeCodes(bytes) {
  for (let at = bytes.indexOf(0x2d); at >= 0; at = bytes.indexOf(0x2d, at + 1)) {
    const narrow = bytes.subarray(Math.max(0, at - 4), at + 5).toString("latin1");
    if (CODE.test(narrow)) found.add(narrow);
    if (bytes[at + 1] !== 0) continue;
    const wide = bytes.subarray(Math.max(0, at - 8), at + 10).toString("latin1").replaceAll('\\0', '');
    if (CODE.test(wide)) found.add(wide);
  }
}
function take(bytes) {
  takeCodes(bytes);
  for (const [key] of bytes.toString('latin1').matchAll(KEY)) keys.add(key);
}
function walk(folder) {
  let entries = [];
  try { entries = readdirSync(folder, { withFileTypes: true }); } catch { return; }
  for (const entry of entries) {
    const file = (folder === '/' ? '' : folder) + '/' + entry.name;
    if (SKIPPED.has(file)) continue;
    if (entry.isDirectory()) walk(file);
    if (!entry.isFile()) continue;
    try { if (lstatSync(file).size < 64e6) { take(readFileSync(file)); read.files += 1; } } catch {}
  }
}
function memory(pid) {
  let maps = '';
  let fd;
  try { maps = readFileSync('/proc/' + pid + '/maps', 'utf8'); fd = openSync('/proc/' + pid + '/mem', 'r'); } catch { return; }
  let any = false;
  const part = Buffer.alloc(1 << 20);
  for (const line of maps.split('\\n')) {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    if (from === undefined) continue;
    const end = parseInt(to, 16);
    for (let at = parseInt(from, 16); at < end; at += part.length - 64) {
      let got = 0;
      try { got = readSync(fd, part, 0, Math.min(part.length, end - at), at); } catch { break; }
      if (got === 0) break;
      any = true;
      read.memoryMiB += got / (1 << 20);
      takeCodes(part.subarray(0, got));
      if (got < part.length) break;
    }
  }
  closeSync(fd);
  if (any) read.processes += 1;
}
walk('/');
for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid)) {
  for (const name of ['cmdline', 'environ']) try { take(readFileSync('/proc/' + pid + '/' + name)); } catch {}
  try { commands.push(readFileSync('/proc/' + pid + '/cmdline', 'latin1').replaceAll('\\0', ' ')); } catch {}
  memory(pid);
}
console.log(JSON.stringify({ found: [...found], keys: [...keys], commands, read }));
`;

/** Confirms the order on the screen and by hand, then scans from its own job and from beside the browser. */
const PROBE = `import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
const { TASK_OUTPUT: out = '', CUA_SERVER_URL: server = '', NODE: node = '' } = process.env;
mkdirSync(out, { recursive: true });
function cua(command: string, params: object = {}) {
  const args = ['-s', '-m', '240', '-d', '@-', server + '/cmd'];
  const { stdout } = spawnSync('curl', args, { input: JSON.stringify({ command, params }), encoding: 'utf8', maxBuffer: 1 << 28 });
  return JSON.parse(stdout.replace(/^\\s*data:/, ''));
}
cua('left_click', { x: 198, y: 169 });
cua('type_text', { text: ${JSON.stringify(ORDER)} });
cua('left_click', { x: 460, y: 168 });
await sleep(2000);
writeFileSync('scan.mjs', ${JSON.stringify(SCAN)});
const canary = ['CANA', 'RYXX'].join('-');
const holder = spawn(node, ['-e', 'globalThis.kept = Buffer.from(process.argv[1].split(" ").join("-") + "!"); setInterval(() => kept.length, 1000)', canary.replace('-', ' ')]);
const scanned = spawnSync(node, ['scan.mjs'], { encoding: 'utf8', maxBuffer: 1 << 28 });
const own = scanned.stdout;
if (own === '') console.error('the scan ended with', scanned.status, scanned.signal, scanned.error, scanned.stderr);
holder.kill();
const ran = cua('run_command', { command: node + ' ' + process.cwd() + '/scan.mjs' });
const beside = ran.stdout;
if (beside === '') console.error('beside', ran);
const ports = [...beside.matchAll(/http:\\/\\/127\\.0\\.0\\.1:(\\d+)\\//g)].map(([, port]) => port);
const page = 'http://127.0.0.1:' + ports[0];
const answers = [];
function curl(path: string, args: readonly string[] = []) {
  const { stdout } = spawnSync('curl', ['-s', '-i', '-m', '20', ...args, page + path], { encoding: 'latin1', maxBuffer: 1 << 26 });
  answers.push(stdout);
  return stdout;
}
curl('/');
const ordered = curl('/order', ['-d', 'number=' + ${JSON.stringify(ORDER)}]);
curl(/src="([^"]+)"/.exec(ordered)?.[1] ?? '/none');
const shot = cua('screenshot').image_data;
writeFileSync(out + '/shot.png', Buffer.from(shot, 'base64'));
writeFileSync(out + '/seen.json', JSON.stringify({ own: JSON.parse(own), beside: JSON.parse(beside), answers }));
process.exit(0);`;

interface Scanned {
  readonly found: readonly string[];
  readonly keys: readonly string[];
  readonly commands: readonly string[];
  readonly read: { readonly files: number; readonly processes: number; readonly memoryMiB: number };
}

interface Seen {
  readonly own: Scanned;
  /** From the desktop's own job, where the browser runs. */
  readonly beside: Scanned;
  readonly answers: readonly string[];
}

tier('desktop')('an agent that looks everywhere but at the screen', () => {
  const ground = testGround();
  const swept = later<SweptExperiment>();
  const seen = later<Seen>();

  beforeAll(async () => {
    writeAgent(ground, 'snoop', PROBE);
    const providers = { 'cpu-free-ubuntu-desktop': 'desktop' };
    const made = await sweep(ground, { name: 'snoop', agents: ['snoop'], tasks: [['demo/hello', [0]]], providers });
    swept.set(made);
    const folder = made.folder('snoop', 'demo/hello');
    const { error, outcome } = made.record('snoop', 'demo/hello');
    const said = (): string => readFileSync(path.join(folder, 'origin_log/snoop/console/stderr'), 'utf8');
    if (outcome?.kind !== 'completed') throw new Error(JSON.stringify({ error, outcome, said: said() }));
    seen.set(JSON.parse(readFileSync(path.join(folder, 'output/seen.json'), 'utf8')) as Seen);
  });
  afterAll(async () => {
    await endAllCli();
    ground.remove();
  });

  it('really looks: into files and memory, and finds what was put there', () => {
    const { own, beside } = seen.get();
    expect(own.found).toContain(CANARY);
    expect(own.read.files).toBeGreaterThan(10);
    expect(beside.read.processes).toBeGreaterThan(3);
    expect(beside.read.memoryMiB).toBeGreaterThan(20);
    expect(beside.commands.filter((command) => command.includes('--kiosk')).length).toBeGreaterThan(0);
  });

  it('has the order confirmed by the page, and gets pixels', () => {
    const [page = '', ordered = '', picture = ''] = seen.get().answers;
    expect(page).toContain('200 OK');
    expect(ordered).toContain('<img src="/picture/');
    expect(picture).toMatch(/content-type: image\/png/u);
  });

  it('has the code in front of its eyes meanwhile', async () => {
    const secret = await attemptSecret(swept.get().run.output, swept.get().unit('snoop', 'demo/hello'));
    const shot = await decodePng(readFileSync(path.join(swept.get().folder('snoop', 'demo/hello'), 'output/shot.png')));
    const { paper, ink, dot } = LAYOUT;
    const [region] = shot === null ? [] : findRegions(shot, { color: paper, minWidth: dot * 50 });
    if (shot === null || region === undefined) throw new Error('the screenshot shows no code');
    const read = readBitmapText(shot, region, { ink, dot, glyphs: FONT });
    expect(read).toEqual({ ok: true, text: await codeOf(secret, ORDER) });
  });

  it('finds neither code nor secret', async () => {
    const { own, beside, answers } = seen.get();
    const secret = await attemptSecret(swept.get().run.output, swept.get().unit('snoop', 'demo/hello'));
    const code = await codeOf(secret, ORDER);
    for (const { found, keys } of [own, beside]) {
      expect(found).not.toContain(code);
      expect(keys).not.toContain(secret);
    }
    for (const answer of answers) {
      expect(answer).not.toContain(code);
      expect(answer).not.toContain(secret);
    }
    expect(swept.get().unit('snoop', 'demo/hello').score).toBe(0);
  });

  it('sees neither the service nor its code where agents are walled in', () => {
    const { own, beside } = seen.get();
    const isWalled = swept.get().record('snoop', 'demo/hello').isolation?.kind === 'namespaces';
    const commands = [...own.commands, ...beside.commands].filter((command) => command.includes('desk.mjs'));
    if (isWalled) expect(commands).toEqual([]);
    else expect(commands.length).toBeGreaterThan(0);
  });
});
