import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quotePosix, quotePosixPath } from '#core/cua/posix-shell';
import * as windows from '#core/cua/windows-shell';

const decoded = (command: string): string =>
  Buffer.from(/-EncodedCommand (\S+)$/.exec(command)?.[1] ?? '', 'base64').toString('utf16le');

describe('words of a POSIX shell', () => {
  it('are what they were, whatever is in them', () => {
    const words = fc.array(
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(words, (list) => {
        const script = `printf '%s\\0' ${list.map(quotePosix).join(' ')}`;
        const { stdout } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8', timeout: 10_000 });
        expect(stdout.split('\0').slice(0, -1)).toEqual(list);
      }),
      { numRuns: 30 },
    );
  });

  it('keep the home folder of a path', () => {
    expect(quotePosixPath("~/it's")).toBe(`"$HOME"/'it'\\''s'`);
    expect(quotePosixPath('/a b')).toBe("'/a b'");
  });
});

describe('commands for Windows (their text only: no Windows was at hand)', () => {
  it('carry a script through cmd.exe unharmed', () => {
    const script = `'%PATH%' & "x" ^ | <> 你好 ñ\n$y`;
    const command = windows.encodedPowerShell(script);
    expect(command).toMatch(/^powershell -NoProfile [A-Za-z -]+ -EncodedCommand [A-Za-z0-9+/=]+$/);
    expect(decoded(command)).toBe(script);
  });

  it('quote paths for PowerShell', () => {
    expect(decoded(windows.windowsMove("C:\\it's.part", 'C:\\a b'))).toBe(
      "$ErrorActionPreference='Stop'; Move-Item -Force -LiteralPath 'C:\\it''s.part' -Destination 'C:\\a b'",
    );
  });

  it('run what fits the line as it stands and the rest as a batch file', () => {
    expect(windows.windowsRun('C:\\j', 'dir "C:\\x y" & exit 3')).toBe('chcp 65001>nul & dir "C:\\x y" & exit 3');
    expect(windows.windowsRun('C:\\j', 'a\nb')).toBe('"C:\\j\\cmd.bat"');
    expect(windows.windowsRun('C:\\j', 'x'.repeat(9000))).toBe('"C:\\j\\cmd.bat"');
    expect(windows.windowsBatch('a\nb')).toBe('@echo off\r\nchcp 65001>nul\r\na\r\nb\r\n');
  });

  it('supervise a command with its own files and a limit', () => {
    expect(windows.windowsSupervisor('C:\\j', 90, "echo 'hi'").split('\r\n')).toEqual([
      "$PID | Out-File -Encoding ascii 'C:\\j\\supervisor'",
      `$p = Start-Process -FilePath cmd.exe -ArgumentList '/d /s /c "echo ''hi''"' -WindowStyle Hidden -PassThru -RedirectStandardInput 'C:\\j\\in' -RedirectStandardOutput 'C:\\j\\out' -RedirectStandardError 'C:\\j\\err'`,
      '$null = $p.Handle',
      "$p.Id | Out-File -Encoding ascii 'C:\\j\\pid'",
      "if (-not $p.WaitForExit(90000)) { New-Item -ItemType File -Force 'C:\\j\\timeout' | Out-Null; taskkill /T /F /PID $p.Id | Out-Null }",
      '$p.WaitForExit()',
      "$p.ExitCode | Out-File -Encoding ascii 'C:\\j\\rc.part'",
      "Move-Item -Force -LiteralPath 'C:\\j\\rc.part' -Destination 'C:\\j\\rc'",
      '',
    ]);
    expect(decoded(windows.windowsLaunch('C:\\j'))).toContain('-File "C:\\j\\supervise.ps1"');
    expect(decoded(windows.windowsProbe('C:\\j'))).toContain("Test-Path -LiteralPath 'C:\\j\\rc'");
  });
});
