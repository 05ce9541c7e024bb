import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AGENT_ACCOUNTS, bootScript, GUEST_PATHS, type BootRequest } from '#core/boot-script';
import { quoteShell } from '#core/boot-script-linux';
import { imageFamily } from '#core/image-family';

const REQUEST: BootRequest = {
  os: 'linux',
  kind: 'bare',
  privilege: 'restricted',
  expiresAt: '2026-11-30T14:20:00.000Z',
  resolution: null,
  archive: { url: 'https://bucket.example.org/boot.tar.gz?X-Amz-Signature=a1&b=c', sha256: 'ab'.repeat(32) },
};

const linux = (changes: Partial<BootRequest> = {}): string => bootScript({ ...REQUEST, ...changes });
const windows = (changes: Partial<BootRequest> = {}): string => bootScript({ ...REQUEST, os: 'windows', ...changes });

const bash = (script: string, ...args: string[]) =>
  spawnSync('bash', [...args, '-s'], { input: script, encoding: 'utf8', timeout: 20_000 });

/** Printable ASCII as a URL may have it, signed ones being the longest. */
const urls = fc
  .string({
    unit: fc.constantFrom(...[...Array(94).keys()].map((at) => String.fromCharCode(33 + at))),
    maxLength: 2000,
  })
  .map((rest) => `https://h/${rest.replace(/["<>]/g, "'")}`);

describe('user data of a Linux machine', () => {
  it.each([
    ['a bare machine', linux()],
    ['a prepared machine', linux({ kind: 'prepared', archive: null })],
    ['a prepared machine with newer files', linux({ kind: 'prepared', privilege: 'upstream' })],
  ])('is a script that bash can read, for %s', (_, script) => {
    expect(bash(script, '-n')).toMatchObject({ status: 0, stderr: '' });
  });

  it('sets the end of the machine before anything that can fail, five minutes after its time', () => {
    const script = linux();
    expect(script).toContain("ends_at='2026-11-30 14:25:00 UTC'");
    const [end, fetch, install] = ['systemctl enable --now examhall-deadman.timer', 'curl ', 'install.sh'].map((text) =>
      script.indexOf(text),
    );
    expect(end).toBeGreaterThan(0);
    expect(end).toBeLessThan(fetch ?? 0);
    expect(fetch).toBeLessThan(install ?? 0);
  });

  it.each([
    ['a bare machine', linux()],
    ['a prepared machine', linux({ kind: 'prepared', archive: null })],
    ['a prepared machine with newer files', linux({ kind: 'prepared' })],
  ])('holds a desktop of the image back before its settings are there, until it is configured: %s', (_, script) => {
    const [hold = -1, settings = -1, configure = -1] = [
      'systemctl disable --now examhall-desktop.target',
      '/etc/examhall/sandbox.env',
      'linux/configure.sh',
    ].map((text) => script.indexOf(text));
    expect(hold).toBeGreaterThan(0);
    expect(hold).toBeLessThan(settings);
    expect(settings).toBeLessThan(configure);
    expect(script.slice(configure)).not.toContain('examhall-desktop.target');
  });

  it('runs nothing of an archive whose hash differs', () => {
    const lines = linux().split('\n');
    const check = lines.findIndex((line) => line.includes('sha256sum -c'));
    expect(lines[check]).toContain('ab'.repeat(32));
    expect(check).toBeLessThan(lines.findIndex((line) => line.startsWith('tar ')));
    expect(lines[1]).toBe('set -euo pipefail');
  });

  it('keeps any URL as it is', () => {
    fc.assert(
      fc.property(urls, (url) => {
        const line = linux({ archive: { url, sha256: 'ab'.repeat(32) } })
          .split('\n')
          .find((each) => each.startsWith('url='));
        return bash(`${line ?? ''}\nprintf %s "$url"`).stdout === url;
      }),
      { numRuns: 60 },
    );
  });

  it('quotes any word', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(!text.includes('\0'));
        return bash(`printf %s ${quoteShell(text)}`).stdout === text;
      }),
      { numRuns: 60 },
    );
  });

  it('installs nothing on a prepared machine, and only files when it is given an archive', () => {
    expect(linux({ kind: 'prepared', archive: null })).not.toMatch(/curl|install\.sh/);
    expect(linux({ kind: 'prepared' })).toContain('install.sh --files-only');
    expect(linux()).toMatch(/install\.sh\n/);
  });
});

describe('user data of a Windows machine', () => {
  it('is one PowerShell block with Windows line ends', () => {
    const script = windows();
    expect(script).toMatch(
      /^<powershell>\r\n[\s\S]+\r\n<\/powershell>\r\n<runAsLocalSystem>true<\/runAsLocalSystem>\r\n$/,
    );
    expect(script.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  });

  it('sets the end of the machine first, and then what can fail', () => {
    const script = windows();
    expect(script).toContain("Parse('2026-11-30T14:25:00.000Z'");
    for (const later of ['icacls', 'sandbox.json', 'Invoke-WebRequest', 'boot-done'])
      expect(script.indexOf('ExamHall-DeadMan'), later).toBeLessThan(script.indexOf(later));
    expect(script.indexOf('Get-FileHash')).toBeLessThan(script.indexOf('tar.exe'));
  });

  it.each(['bare', 'prepared'] as const)(
    'leaves the restart of a %s machine to EC2Launch, as its last word',
    (kind) => {
      const lines = windows({ kind }).split('\r\n');
      const end = lines.indexOf('</powershell>');
      expect(lines.slice(end - 3, end)).toEqual([
        'if ($isDone) { exit 0 }',
        'if (Test-Path "$env:ProgramFiles\\Amazon\\EC2Launch\\EC2Launch.exe") { exit 3010 }',
        expect.stringMatching(/shutdown\.exe \/r \/f \/t \d\d /),
      ]);
      // A restart from within has EC2Launch believe that the script never ended, and run it at each boot.
      expect(windows({ kind })).not.toMatch(/Restart-Computer|shutdown\.exe \/r \/f \/t 0/);
    },
  );

  it('sets a machine up once, and at a later call only its end', () => {
    const lines = windows().split('\r\n');
    const begin = lines.indexOf('  if (-not $isDone) {');
    const end = lines.indexOf('  }', begin);
    expect(begin).toBeGreaterThan(0);
    const guarded = lines.slice(begin, end).join('\n');
    const always = [...lines.slice(0, begin), ...lines.slice(end)].join('\n');
    for (const once of ['sandbox.json', 'Invoke-WebRequest', 'install.ps1', 'configure.ps1']) {
      expect(guarded).toContain(once);
      expect(always).not.toContain(once);
    }
    expect(always).toContain('ExamHall-DeadMan');
    expect(lines[end - 1]).toContain(`Set-Content -LiteralPath $note -Value '${REQUEST.expiresAt}'`);
  });

  it('takes no other sandbox for itself that an image was made of', () => {
    const asks = (expiresAt: string): string | undefined =>
      windows({ expiresAt })
        .split('\r\n')
        .find((line) => line.includes('$isDone = '));
    expect(asks('2026-11-30T14:20:00.000Z')).toContain(`.Trim() -eq '2026-11-30T14:20:00.000Z'`);
    expect(asks('2026-11-30T14:21:00.000Z')).not.toBe(asks('2026-11-30T14:20:00.000Z'));
  });

  it('keeps any URL as one literal', () => {
    fc.assert(
      fc.property(urls, (url) => {
        const line = windows({ archive: { url, sha256: 'ab'.repeat(32) } })
          .split('\r\n')
          .find((each) => each.trim().startsWith('$url = '));
        const literal = /^'((?:[^']|'')*)'$/.exec(line?.trim().slice('$url = '.length) ?? '')?.[1];
        return literal?.replaceAll("''", "'") === url;
      }),
    );
  });

  it('says its settings as JSON', () => {
    const settings = /-Value '(\{[^']*\})'/.exec(windows({ privilege: 'upstream', resolution: '1280x800' }))?.[1];
    expect(JSON.parse(settings ?? '')).toEqual({
      privilege: 'upstream',
      resolution: '1280x800',
      expiresAt: REQUEST.expiresAt,
    });
  });
});

describe('user data', () => {
  it('stays below what EC2 takes, with the longest URL that is signed', () => {
    const url = `https://bucket.example.org/${'x'.repeat(2500)}`;
    for (const script of [linux, windows]) {
      const text = script({ archive: { url, sha256: 'ab'.repeat(32) } });
      expect(Buffer.byteLength(text)).toBeLessThan(12_000);
    }
    expect(() => linux({ archive: { url: url.repeat(7), sha256: 'ab'.repeat(32) } })).toThrow(/EC2 takes fewer than/);
  });

  it.each([
    [{ resolution: '1920x1080; reboot' }, /resolution/],
    [{ resolution: '0x0' }, /resolution/],
    [{ expiresAt: '2026-11-30 14:20' }, /expiresAt/],
    [{ archive: { url: 'https://h/a\nb', sha256: 'ab'.repeat(32) } }, /archive.url/],
    [{ archive: { url: 'https://h/</powershell>', sha256: 'ab'.repeat(32) } }, /archive.url/],
    [{ archive: { url: 'https://h/a', sha256: 'AB'.repeat(32) } }, /sha256/],
    [{ archive: null }, /bare machine/],
  ])('refuses %j', (changes, message) => {
    expect(() => linux(changes)).toThrow(message);
    expect(() => windows(changes)).toThrow(message);
  });

  it('puts things where they lie apart from what the agent may write', () => {
    const family = { linux: imageFamily('ale-ubuntu22'), windows: imageFamily('ale-win-server') };
    for (const os of ['linux', 'windows'] as const) {
      expect(family[os]?.workRoot.startsWith(AGENT_ACCOUNTS[os].home)).toBe(true);
      for (const path of Object.values(GUEST_PATHS[os])) expect(path.startsWith(AGENT_ACCOUNTS[os].home)).toBe(false);
    }
  });
});
