import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { launchScript, quoteShell, rootScript } from '#guest/namespace-script';

/** Any text a process can be given: no NUL, no half surrogate. */
const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));

function shell(script: string): string {
  return spawnSync('/bin/sh', ['-s'], { input: script, encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } }).stdout;
}

describe('quoting for the shell', () => {
  it('gives any text back as one word', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), (words) => {
        const script = `printf '%s\\036' ${words.map(quoteShell).join(' ')}`;
        return shell(script) === (words.length === 0 ? '\x1e' : words.map((word) => `${word}\x1e`).join(''));
      }),
      { numRuns: 60 },
    );
  });
});

describe('the launch script', () => {
  const run = (plan: Partial<Parameters<typeof launchScript>[0]>): { out: string; trouble: string } => {
    const script = launchScript({ argv: ['/usr/bin/env'], env: { PATH: '/usr/bin:/bin' }, cwd: '/', ...plan });
    const env = { PATH: '/usr/bin:/bin', LEAK: 'x' };
    const result = spawnSync('/bin/sh', ['-c', script], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      encoding: 'utf8',
      env,
    });
    return { out: result.stdout, trouble: result.output[3] ?? '' };
  };

  it('hands arguments and environment over unchanged', () => {
    fc.assert(
      fc.property(text, text, (argument, value) => {
        const { out } = run({ argv: ['/bin/sh', '-c', 'printf "%s|%s" "$1" "$A"', 'sh', argument], env: { A: value } });
        return out === `${argument}|${value}`;
      }),
      { numRuns: 40 },
    );
  });

  it('tells what keeps the command from starting', () => {
    expect(run({ argv: ['/no/such'] }).trouble).toContain('/no/such is not a program');
    expect(run({ argv: ['no-such'] }).trouble).toContain('no-such is not a program');
    expect(run({ argv: ['/tmp'] }).trouble).toContain('/tmp is not a program');
    expect(run({ cwd: '/no/where' }).trouble).toContain('the folder /no/where');
    expect(run({}).trouble).toBe('');
  });
});

describe('the script that builds a root', () => {
  const plan = {
    account: { name: 'user', uid: 7, gid: 8, home: '/home/user' },
    hostname: 'box',
    launchScript: "echo 'hi'",
    mounts: [
      { source: '/srv/a b\\c#d', target: '/data/deep', readOnly: false, isFolder: true },
      { source: '/usr', target: '/usr', readOnly: true, isFolder: true },
      { source: '/x/node', target: '/opt/node/bin/node', readOnly: true, isFolder: false },
    ],
  };

  it('mounts what is listed, read-only where it says so, and leaves the host', () => {
    const script = rootScript(plan);
    expect(script).toContain('/usr /sys/usr none bind,ro,nosuid,nodev 0 0');
    expect(script).toContain('/srv/a\\040b\\134c\\043d /sys/data/deep none bind,nosuid,nodev 0 0');
    expect(script).toContain(": > 'opt/node/bin/node'");
    expect(script).toContain('user:x:7:8::/home/user:/bin/bash');
    const order = ['mount -a', 'pivot_root . .old', 'umount -l /.old', 'echo ready'].map((line) =>
      script.indexOf(line),
    );
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order[0]).toBeGreaterThan(0);
    expect(script.match(/ bind[, ]/g)?.length).toBe(3);
  });

  it('puts the accounts over an /etc that is shown whole', () => {
    const script = rootScript({
      ...plan,
      mounts: [{ source: '/etc', target: '/etc', readOnly: true, isFolder: true }],
    });
    expect(script).toContain('/sys/.passwd /sys/etc/passwd none bind,ro,nosuid,nodev 0 0');
    expect(script.indexOf('/etc /sys/etc none')).toBeLessThan(script.indexOf('/sys/.passwd'));
  });
});
