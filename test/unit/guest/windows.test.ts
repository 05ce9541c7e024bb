import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  listProcessesScript,
  parseWindowsProcesses,
  powerShellArgv,
  quotePowerShell,
  quoteWindowsArgument,
  startTaskScript,
  stopTaskScript,
  taskkillArgv,
  windowsCommandLine,
  wrapperScript,
  type WindowsTask,
} from '#guest/windows';

/**
 * `CommandLineToArgvW` for what follows the program, as Microsoft describes it: 2n backslashes before a quote are n
 * backslashes and a quote that opens or closes, 2n+1 are n and a plain quote, others are themselves.
 * https://learn.microsoft.com/windows/win32/api/shellapi/nf-shellapi-commandlinetoargvw
 */
function splitArguments(line: string): string[] {
  const found: string[] = [];
  let at = 0;
  while (at < line.length) {
    while (line[at] === ' ' || line[at] === '\t') at += 1;
    if (at >= line.length) break;
    let isQuoted = false;
    let argument = '';
    for (; at < line.length && (isQuoted || (line[at] !== ' ' && line[at] !== '\t')); at += 1) {
      if (line[at] !== '\\' && line[at] !== '"') {
        argument += line[at] ?? '';
        continue;
      }
      let slashes = 0;
      while (line[at] === '\\') {
        slashes += 1;
        at += 1;
      }
      if (line[at] !== '"') {
        argument += '\\'.repeat(slashes);
        at -= 1;
        continue;
      }
      argument += '\\'.repeat(Math.floor(slashes / 2));
      if (slashes % 2 === 1) argument += '"';
      else isQuoted = !isQuoted;
    }
    found.push(argument);
  }
  return found;
}

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
  it('gives every argument back as CommandLineToArgvW reads it', () => {
    fc.assert(
      fc.property(fc.array(awkward, { maxLength: 5 }), (args) => {
        expect(splitArguments(args.map(quoteWindowsArgument).join(' '))).toEqual(args);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['plain', 'plain'],
    ['', '""'],
    ['two words', '"two words"'],
    ['a"b', '"a\\"b"'],
    ['C:\\dir\\', 'C:\\dir\\'],
    ['C:\\my dir\\', '"C:\\my dir\\\\"'],
    ['a\\"b', '"a\\\\\\"b"'],
  ])('writes %j as %j', (argument, quoted) => {
    expect(quoteWindowsArgument(argument)).toBe(quoted);
  });

  it('gives every PowerShell literal back, and nothing after it', () => {
    fc.assert(
      fc.property(awkward, (text) => {
        expect(readPowerShellLiteral(quotePowerShell(text))).toEqual({ text, rest: '' });
      }),
      { numRuns: 500 },
    );
  });

  it('takes no program with a quote in its name, and kills no system process', () => {
    expect(windowsCommandLine(['C:\\Program Files\\node.exe', 'a b', 'c'])).toBe(
      '"C:\\Program Files\\node.exe" "a b" c',
    );
    expect(() => windowsCommandLine(['a"b'])).toThrow(/not a program/);
    expect(() => windowsCommandLine([])).toThrow(/not a program/);
    expect(taskkillArgv(1234)).toEqual(['taskkill.exe', '/T', '/F', '/PID', '1234']);
    for (const pid of [0, 4, -1, 1.5, NaN]) expect(() => taskkillArgv(pid)).toThrow(/pid/);
  });
});

/** The marker as the script itself prints it. */
const endOfListing = (): string =>
  /; '([^']+)' \} catch/.exec(listProcessesScript(null))?.[1] ?? 'the script prints no end';

const task: WindowsTask = {
  taskName: 'examhall-run',
  user: "O'Brien",
  argv: ['C:\\node\\node.exe', 'C:\\agent dir\\run.mjs', "it's", 'say "hi"\\'],
  env: { TOKEN: "a'b", Path: 'C:\\node' },
  cwd: 'E:\\agenthle',
  stdoutPath: 'C:\\jobs\\1\\stdout',
  stderrPath: 'C:\\jobs\\1\\stderr',
  exitCodePath: 'C:\\jobs\\1\\exit-code',
  wallSeconds: 59.2,
  wrapperPath: 'C:\\jobs\\my job\\run.ps1',
};

describe('scripts for Windows', () => {
  it('wrap a command in exactly its environment, with its exit code last', () => {
    const lines = wrapperScript(task).split('\r\n');
    expect(lines.filter((line) => /Set-Item|ArgumentList|FilePath|Redirect|WorkingDirectory/.test(line))).toEqual([
      "Set-Item -LiteralPath 'Env:TOKEN' -Value 'a''b'",
      "Set-Item -LiteralPath 'Env:Path' -Value 'C:\\node'",
      "  FilePath = 'C:\\node\\node.exe'",
      '  ArgumentList = \'"C:\\agent dir\\run.mjs" it\'\'s "say \\"hi\\"\\\\"\'',
      "  WorkingDirectory = 'E:\\agenthle'",
      "  RedirectStandardOutput = 'C:\\jobs\\1\\stdout'",
      "  RedirectStandardError = 'C:\\jobs\\1\\stderr'",
    ]);
    expect(lines.at(-2)).toBe("Move-Item -LiteralPath $draft -Destination 'C:\\jobs\\1\\exit-code' -Force");
    expect(wrapperScript({ ...task, argv: ['x.exe'] })).not.toContain('ArgumentList');
  });

  it('start it as a task in the session of the user, limited in rights and time', () => {
    expect(startTaskScript(task).split('\r\n')).toEqual([
      "$ErrorActionPreference = 'Stop'",
      "$action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument '-NoProfile -NonInteractive -ExecutionPolicy Bypass -File \"C:\\jobs\\my job\\run.ps1\"'",
      "$principal = New-ScheduledTaskPrincipal -UserId 'O''Brien' -LogonType Interactive -RunLevel Limited",
      '$settings = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -MultipleInstances IgnoreNew -ExecutionTimeLimit (New-TimeSpan -Seconds 60)',
      "Register-ScheduledTask -TaskName 'examhall-run' -Action $action -Principal $principal -Settings $settings -Force | Out-Null",
      "Start-ScheduledTask -TaskName 'examhall-run'",
      '',
    ]);
    expect(startTaskScript(task)).not.toContain("a''b");
  });

  it('stop the task, every process of the user, and tell what is left', () => {
    const script = stopTaskScript('examhall-run', "O'Brien");
    const steps = ['Stop-ScheduledTask', 'Unregister-ScheduledTask', 'taskkill.exe /T /F /PID', '"$($_.ProcessId)`t'];
    expect(steps.map((step) => script.indexOf(step)).every((at, index, all) => at > (all[index - 1] ?? 0))).toBe(true);
    expect(script.match(/-eq 'O''Brien'/g)).toHaveLength(2);
    expect(listProcessesScript(null)).not.toContain('GetOwner');
  });

  it('are read from standard input, not from the command line', () => {
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
