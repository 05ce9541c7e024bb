import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quotePowerShell } from '#core/cua/windows-shell';
import { listProcessesScript, parseWindowsProcesses, powerShellArgv, taskkillArgv } from '#guest/windows';

/** Reads single-quoted PowerShell literals: any of five quotes ends one, doubled it stands for itself. */
function readPowerShellLiteral(literal: string): { text: string; rest: string } {
  const isQuote = (character: string | undefined): boolean =>
    character !== undefined && /['\u2018\u2019\u201a\u201b]/.test(character);
  let text = '';
  for (let at = 1; at < literal.length; at += 1) {
    if (!isQuote(literal[at])) text += literal[at] ?? '';
    else if (isQuote(literal[at + 1])) {
      text += literal[at] ?? '';
      at += 1;
    } else return { text, rest: literal.slice(at + 1) };
  }
  throw new Error(`not closed: ${literal}`);
}

/** Texts made mostly of what quoting gets wrong. */
const awkward = fc
  .array(fc.constantFrom('\\', '"', ' ', "'", '\u2019', '\t', 'a', '$', '`', '%', ';', 'ü', '\n'), { maxLength: 12 })
  .map((parts) => parts.join(''));

describe('quoting for Windows', () => {
  it('gives every PowerShell literal back, and nothing after it', () => {
    fc.assert(
      fc.property(awkward, (text) => {
        expect(readPowerShellLiteral(quotePowerShell(text))).toEqual({ text, rest: '' });
      }),
      { numRuns: 500 },
    );
  });

  it('kills no system process', () => {
    expect(taskkillArgv(1234)).toEqual(['taskkill.exe', '/T', '/F', '/PID', '1234']);
    for (const pid of [0, 4, -1, 1.5, NaN]) expect(() => taskkillArgv(pid)).toThrow(/pid/);
  });
});

/** The marker as the script itself prints it. */
const endOfListing = (): string =>
  /; '([^']+)' \} catch/.exec(listProcessesScript(null))?.[1] ?? 'the script prints no end';

describe('scripts for Windows', () => {
  it('are read from standard input, not from the command line', () => {
    expect(listProcessesScript(null)).not.toContain('GetOwner');
    expect(powerShellArgv().slice(-2)).toEqual(['-Command', '-']);
  });

  it('tell processes that can be read back', () => {
    const stdout = `4\t0\t133\r\n88\t4\t134\r\n\r\nnoise\r\n${endOfListing()}\r\n`;
    expect(parseWindowsProcesses({ status: 0, stdout, stderr: '' })).toEqual([
      { pid: 4, parentPid: 0, startedAt: '133' },
      { pid: 88, parentPid: 4, startedAt: '134' },
    ]);
    expect(parseWindowsProcesses({ status: 0, stdout: `${endOfListing()}\r\n`, stderr: '' })).toEqual([]);
  });

  it.each([
    ['could not be started', { status: null, stdout: null, stderr: null }],
    ['failed', { status: 1, stdout: '', stderr: 'Get-CimInstance : Access denied' }],
    ['failed after the last line', { status: 1, stdout: `4\t0\t133\r\n${endOfListing()}\r\n`, stderr: '' }],
    ['was cut', { status: 0, stdout: '4\t0\t133\r\n', stderr: '' }],
    ['was cut inside its last line', { status: 0, stdout: `4\t0\t133\r\n${endOfListing().slice(0, -1)}`, stderr: '' }],
    ['printed nothing', { status: 0, stdout: '', stderr: '' }],
  ])('a listing that %s is no empty machine', (_, printed) => {
    expect(() => parseWindowsProcesses(printed)).toThrow(/not whole/);
  });

  it('list in one statement that prints its end last, and fail as a whole', () => {
    for (const script of [listProcessesScript(null), listProcessesScript("O'Brien")]) {
      expect(script.trimEnd().split('\r\n')).toHaveLength(1);
      expect(script).toMatch(
        /^try \{ Get-CimInstance Win32_Process -ErrorAction Stop.*; '[^']+' \} catch \{.*exit 1 \}\r\n$/,
      );
    }
  });
});
