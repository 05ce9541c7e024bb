import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { bootScript } from '#core/boot-script';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs the part of a machine's user data that sets its end, with units in a folder and a false `systemctl`. */
function setEnd(expiresAt: Date) {
  const folder = mkdtempSync(path.join(tmpdir(), 'examhall-dead-man-'));
  folders.push(folder);
  const systemctl = path.join(folder, 'systemctl');
  writeFileSync(systemctl, `#!/bin/sh\necho "$@" >> '${folder}/calls'\n`);
  chmodSync(systemctl, 0o755);
  const script = bootScript({
    ...{ os: 'linux', kind: 'prepared', privilege: 'restricted', resolution: null, archive: null },
    expiresAt: expiresAt.toISOString(),
  });
  const last = 'systemctl enable --now examhall-deadman.timer';
  const lines = script.slice(script.indexOf('ends_at='), script.indexOf(last) + last.length);
  const here = lines.replaceAll('/etc/systemd/system', folder).replaceAll('/bin/systemctl', systemctl);
  const env = { PATH: `${folder}:/usr/bin:/bin` };
  const run = (text: string) =>
    spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', text], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const ended = run(here);
  const unit = (name: string): Map<string, string> =>
    new Map(
      readFileSync(path.join(folder, name), 'utf8')
        .split('\n')
        .flatMap((line) => (line.includes('=') ? [[line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]] : [])),
    );
  const calls = (): string[] => readFileSync(path.join(folder, 'calls'), 'utf8').trim().split('\n');
  return { ended, timer: unit('examhall-deadman.timer'), service: unit('examhall-deadman.service'), run, calls };
}

it('a machine whose time is over ends itself within a minute, whatever the clock says by then', () => {
  const { ended, timer } = setEnd(new Date(Date.now() - 3_600_000));
  expect(ended).toMatchObject({ status: 0, stderr: '' });
  expect(timer.get('OnActiveSec')).toBe('60s');
  expect(Date.parse(timer.get('OnCalendar')?.replace(' UTC', 'Z').replace(' ', 'T') ?? '')).toBeLessThan(Date.now());
  expect(timer.get('Persistent')).toBe('true');
});

it('a machine has its time and five minutes, by the clock and by what passes', () => {
  const expiresAt = new Date(Math.floor(Date.now() / 1000) * 1000 + 7_200_000);
  const { timer } = setEnd(expiresAt);
  const at = Date.parse(timer.get('OnCalendar')?.replace(' UTC', 'Z').replace(' ', 'T') ?? '');
  expect(at).toBe(expiresAt.getTime() + 300_000);
  const left = Number(/^(\d+)s$/u.exec(timer.get('OnActiveSec') ?? '')?.[1]);
  expect(left).toBeGreaterThan(7_200);
  expect(left).toBeLessThanOrEqual(7_500);
});

it('what the timer starts powers the machine off', () => {
  const { timer, service, run, calls } = setEnd(new Date());
  expect(timer.get('Unit')).toBe('examhall-deadman.service');
  expect(calls()).toEqual(['daemon-reload', 'enable --now examhall-deadman.timer']);
  expect(run(service.get('ExecStart') ?? 'false').status).toBe(0);
  expect(calls().at(-1)).toBe('--force poweroff');
});
