import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { bootScript } from '#core/boot-script';
import { tier } from '../runner/tier.ts';

const RECIPE = path.resolve(import.meta.dirname, '../../images/ubuntu-desktop');

tier('debootstrap')('the files of the Linux recipe', () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'examhall-units-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  it('are scripts that shellcheck finds nothing in', () => {
    const scripts = readdirSync(RECIPE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sh'));
    expect(scripts.length).toBeGreaterThan(8);
    const args = ['-x', '-P', 'SCRIPTDIR', ...scripts.map((name) => path.join(RECIPE, name))];
    const { stdout, status } = spawnSync('shellcheck', args, { encoding: 'utf8', timeout: 60_000 });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  });

  it('are units that systemd-analyze verify passes, with those of the user data', () => {
    const units = path.join(scratch, 'etc/systemd/system');
    mkdirSync(units, { recursive: true });
    for (const name of readdirSync(path.join(RECIPE, 'files')).filter((each) =>
      /\.(?:service|target|slice)$/.test(each),
    ))
      copyFileSync(path.join(RECIPE, 'files', name), path.join(units, name));
    for (const [name, text] of unitsOfUserData()) writeFileSync(path.join(units, name), text);
    fillRoot(scratch);
    const names = readdirSync(units).filter((name) => name.startsWith('examhall'));
    expect(names.length).toBeGreaterThanOrEqual(8);
    const args = ['verify', '--man=no', '--recursive-errors=yes', `--root=${scratch}`, ...names];
    const { stderr, status } = spawnSync('systemd-analyze', args, { encoding: 'utf8', timeout: 60_000 });
    const ours = stderr.split('\n').filter((line) => line.includes('examhall'));
    expect({ ours, status }).toEqual({ ours: [], status: 0 });
  });
});

describe('packages of the recipe', () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'examhall-apt-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  const text = readFileSync(path.join(RECIPE, 'install.sh'), 'utf8');
  const apt = /^apt\(\) \{\n[^]*?^\}$/mu.exec(text)?.[0] ?? '';

  /** Runs the recipe's own function over an apt-get that fails so often. */
  function update(failures: number): { readonly status: number | null; readonly calls: number } {
    const bin = mkdtempSync(path.join(scratch, 'bin-'));
    const calls = path.join(bin, 'calls');
    const program = `#!/bin/sh\necho "$@" >>'${calls}'\n[ $(wc -l <'${calls}') -gt ${String(failures)} ]\n`;
    writeFileSync(path.join(bin, 'apt-get'), program, { mode: 0o755 });
    const around = 'set -euo pipefail\nsay() { echo "$*"; }\nfail() { exit 1; }\nsleep() { :; }\n';
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
    const { status } = spawnSync('bash', ['-s'], { input: `${around}${apt}\napt update -qq\n`, env, timeout: 20_000 });
    return { status, calls: readFileSync(calls, 'utf8').trim().split('\n').length };
  }

  it('are asked for again when a mirror or a lock fails, five times at most', () => {
    expect(update(0)).toEqual({ status: 0, calls: 1 });
    expect(update(4)).toEqual({ status: 0, calls: 5 });
    expect(update(9)).toEqual({ status: 1, calls: 5 });
  });

  it('are fetched in that way alone', () => {
    const bare = text
      .split('\n')
      .filter((line) => /apt-get (?!-o DPkg::Lock::Timeout=600 -o Acquire::Retries=5|clean|\$1)/u.test(line));
    expect(apt).toContain('apt-get -o');
    expect(bare).toEqual([]);
  });
});

/** The lines of the user data that set the machine's end, really run, over a false /etc and systemctl. */
tier('debootstrap')('the end that a machine sets itself', () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'examhall-end-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  function timerOf(expiresAt: string): {
    readonly timer: string;
    readonly calls: string[];
    readonly ran: readonly [number, number];
  } {
    const root = mkdtempSync(path.join(scratch, 'root-'));
    mkdirSync(path.join(root, 'etc/systemd/system'), { recursive: true });
    mkdirSync(path.join(root, 'bin'));
    writeFileSync(path.join(root, 'bin/systemctl'), `#!/bin/sh\necho "$@" >>'${root}/calls'\n`, { mode: 0o755 });
    const script = userData(expiresAt);
    const lines = script.slice(
      script.indexOf('ends_at='),
      script.indexOf('/bin/bash /opt/examhall/linux/configure.sh'),
    );
    const env = { PATH: `${root}/bin:${process.env['PATH'] ?? ''}`, TZ: 'America/New_York' };
    const input = `set -euo pipefail\n${lines.replaceAll('/etc/systemd/system', `${root}/etc/systemd/system`)}`;
    const from = Date.now();
    const { status, stderr } = spawnSync('bash', ['-s'], { input, env, encoding: 'utf8', timeout: 20_000 });
    const ran = [from, Date.now()] as const;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');
    expect(read('etc/systemd/system/examhall-deadman.service')).toContain('ExecStart=/bin/systemctl --force poweroff');
    return {
      timer: read('etc/systemd/system/examhall-deadman.timer'),
      calls: read('calls').trim().split('\n'),
      ran,
    };
  }

  const setting = (text: string, name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? '';

  it('is five minutes after its time by the clock, in UTC, and as far off by the time that passes', () => {
    const expiresAt = new Date(Math.floor(Date.now() / 1000) * 1000 + 2 * 3600_000);
    const due = expiresAt.getTime() + 300_000;
    const { timer, calls, ran } = timerOf(expiresAt.toISOString());
    const { stdout, status } = spawnSync('systemd-analyze', ['calendar', setting(timer, 'OnCalendar')], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
    });
    expect(status).toBe(0);
    const next = /Next elapse: \w+ (\S+) (\S+) UTC/.exec(stdout);
    expect(Date.parse(`${next?.[1] ?? ''}T${next?.[2] ?? ''}Z`)).toBe(due);
    const left = Number(/^(\d+)s$/.exec(setting(timer, 'OnActiveSec'))?.[1]);
    expect(ran[0] + left * 1000).toBeLessThanOrEqual(due + 1000);
    expect(ran[1] + left * 1000).toBeGreaterThanOrEqual(due - 1000);
    expect(calls).toEqual(['daemon-reload', 'enable --now examhall-deadman.timer']);
  });

  it('is a minute after a boot that comes too late, and again after every further boot', () => {
    const { timer } = timerOf('2020-01-01T00:00:00Z');
    expect(setting(timer, 'OnActiveSec')).toBe('60s');
    expect(setting(timer, 'Persistent')).toBe('true');
    expect(setting(timer, 'OnCalendar')).toBe('2020-01-01 00:05:00 UTC');
  });
});

function userData(expiresAt: string): string {
  const rest = { os: 'linux', kind: 'prepared', privilege: 'restricted', resolution: null, archive: null } as const;
  return bootScript({ ...rest, expiresAt });
}

/** The units that user data writes, as its shell would. */
function unitsOfUserData(): [string, string][] {
  const script = userData('2030-01-01T00:00:00Z');
  const found = [...script.matchAll(/^cat >\/etc\/systemd\/system\/(\S+) <<'?EOF'?\n([\s\S]*?)\nEOF$/gm)];
  expect(found).toHaveLength(2);
  return found.map(([, name = '', text = '']) => [
    name,
    `${text.replace('$ends_at', '2030-01-01 00:05:00 UTC').replace('${left}', '60')}\n`,
  ]);
}

/** systemd's own units and the programs that ours start, so that nothing is missing but what would be missing. */
function fillRoot(root: string): void {
  cpSync('/lib/systemd/system', path.join(root, 'lib/systemd/system'), { recursive: true, verbatimSymlinks: true });
  const programs = [
    'opt/examhall/linux/display.sh',
    'opt/examhall/linux/session.sh',
    'opt/examhall/linux/cua.sh',
    'usr/sbin/nft',
    'bin/systemctl',
  ];
  for (const program of programs) {
    mkdirSync(path.dirname(path.join(root, program)), { recursive: true });
    writeFileSync(path.join(root, program), '#!/bin/sh\n', { mode: 0o755 });
  }
}
