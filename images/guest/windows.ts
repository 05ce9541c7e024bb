/** Command lines and PowerShell text for Windows guests, as pure functions. Unverified on a real Windows. */

/**
 * One argument as `CommandLineToArgvW` takes it apart again: backslashes count only before a quote, where they are doubled.
 * The first word of a command line, the program, follows simpler rules and must not hold a quote.
 */
export function quoteWindowsArgument(argument: string): string {
  if (argument !== '' && !/[\s"]/.test(argument)) return argument;
  const inner = argument.replace(/(\\*)"/g, '$1$1\\"').replace(/\\+$/, '$&$&');
  return `"${inner}"`;
}

/** @throws TypeError for a program name with a quote in it, which no file can have. */
export function windowsCommandLine(argv: readonly string[]): string {
  const [program = '', ...args] = argv;
  if (program === '' || program.includes('"'))
    throw new TypeError(`${JSON.stringify(program)} is not a program's name`);
  return [`"${program}"`, ...args.map(quoteWindowsArgument)].join(' ');
}

/** A single-quoted PowerShell literal. PowerShell takes the typographic quotes for single quotes too. */
export function quotePowerShell(text: string): string {
  return `'${text.replace(/['\u2018\u2019\u201a\u201b]/g, '$&$&')}'`;
}

/** PowerShell reading its script from standard input, so that nothing of it is seen in the process list. */
export function powerShellArgv(): string[] {
  return ['powershell.exe', '-NoLogo', '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-Command', '-'];
}

/** Kills a process with its children. */
export function taskkillArgv(pid: number): string[] {
  if (!Number.isInteger(pid) || pid <= 4) throw new TypeError(`${pid} is not the pid of a process that may be killed`);
  return ['taskkill.exe', '/T', '/F', '/PID', String(pid)];
}

export interface WindowsTask {
  readonly taskName: string;
  /** Local user whose logged-on session the command runs in. */
  readonly user: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  readonly exitCodePath: string;
  readonly wallSeconds: number;
  /** Where the text of `wrapperScript` lies. */
  readonly wrapperPath: string;
}

/**
 * What the scheduled task runs as the agent: exactly the environment given, the command with its output in files, and its
 * exit code last, moved into place so that it is never half there.
 */
export function wrapperScript(task: WindowsTask): string {
  const [program = '', ...args] = task.argv;
  const argumentLine = args.map(quoteWindowsArgument).join(' ');
  return [
    `$ErrorActionPreference = 'Stop'`,
    `Get-ChildItem Env: | Where-Object { $_.Name -notin @('SystemRoot','SystemDrive','ComSpec','PATHEXT','TEMP','TMP','USERPROFILE','APPDATA','LOCALAPPDATA','ProgramData','ProgramFiles','windir') } | ForEach-Object { Remove-Item -LiteralPath ('Env:' + $_.Name) }`,
    ...Object.entries(task.env).map(
      ([name, value]) => `Set-Item -LiteralPath ${quotePowerShell(`Env:${name}`)} -Value ${quotePowerShell(value)}`,
    ),
    `$start = @{`,
    `  FilePath = ${quotePowerShell(program)}`,
    ...(argumentLine === '' ? [] : [`  ArgumentList = ${quotePowerShell(argumentLine)}`]),
    `  WorkingDirectory = ${quotePowerShell(task.cwd)}`,
    `  RedirectStandardOutput = ${quotePowerShell(task.stdoutPath)}`,
    `  RedirectStandardError = ${quotePowerShell(task.stderrPath)}`,
    `  NoNewWindow = $true; PassThru = $true; Wait = $true`,
    `}`,
    `$process = Start-Process @start`,
    `$draft = ${quotePowerShell(`${task.exitCodePath}.tmp`)}`,
    `Set-Content -LiteralPath $draft -Value $process.ExitCode -Encoding ascii`,
    `Move-Item -LiteralPath $draft -Destination ${quotePowerShell(task.exitCodePath)} -Force`,
    '',
  ].join('\r\n');
}

/** Registers and starts the task in the user's own session, without rights the user lacks, under the wall limit. */
export function startTaskScript(task: WindowsTask): string {
  const argument = ['-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', task.wrapperPath]
    .map(quoteWindowsArgument)
    .join(' ');
  const name = quotePowerShell(task.taskName);
  return [
    `$ErrorActionPreference = 'Stop'`,
    `$action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument ${quotePowerShell(argument)}`,
    `$principal = New-ScheduledTaskPrincipal -UserId ${quotePowerShell(task.user)} -LogonType Interactive -RunLevel Limited`,
    `$settings = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -MultipleInstances IgnoreNew -ExecutionTimeLimit (New-TimeSpan -Seconds ${Math.ceil(task.wallSeconds)})`,
    `Register-ScheduledTask -TaskName ${name} -Action $action -Principal $principal -Settings $settings -Force | Out-Null`,
    `Start-ScheduledTask -TaskName ${name}`,
    '',
  ].join('\r\n');
}

/** Takes the task away and kills every process of the user, then prints what is left as `listProcessesScript` does. */
export function stopTaskScript(taskName: string, user: string): string {
  const name = quotePowerShell(taskName);
  return [
    `$ErrorActionPreference = 'SilentlyContinue'`,
    `Stop-ScheduledTask -TaskName ${name}`,
    `Unregister-ScheduledTask -TaskName ${name} -Confirm:$false`,
    `Get-CimInstance Win32_Process | Where-Object { (Invoke-CimMethod -InputObject $_ -MethodName GetOwner).User -eq ${quotePowerShell(user)} } | ForEach-Object { taskkill.exe /T /F /PID $_.ProcessId | Out-Null }`,
    listProcessesScript(user),
  ].join('\r\n');
}

/** The last line of a whole listing. */
const LISTING_END = 'end of the processes';

/**
 * Prints one line for each process, of one user or of all: pid, parent, start, separated by tabs; then `LISTING_END`. One
 * statement, because PowerShell reading from standard input goes on after one that failed. A process that ends while its owner is
 * asked for has none.
 */
export function listProcessesScript(user: string | null): string {
  const filter =
    user === null
      ? ''
      : ` | Where-Object { (Invoke-CimMethod -InputObject $_ -MethodName GetOwner -ErrorAction SilentlyContinue).User -eq ${quotePowerShell(user)} }`;
  const started = '$(if ($_.CreationDate) { $_.CreationDate.ToFileTimeUtc() } else { 0 })';
  const line = `"$($_.ProcessId)\`t$($_.ParentProcessId)\`t${started}"`;
  const list = `Get-CimInstance Win32_Process -ErrorAction Stop${filter} | ForEach-Object { ${line} }`;
  return `try { ${list}; '${LISTING_END}' } catch { [Console]::Error.WriteLine($_); exit 1 }\r\n`;
}

export interface WindowsProcess {
  readonly pid: number;
  readonly parentPid: number;
  readonly startedAt: string;
}

/** How a program ended and what it printed, which is nothing at all when it could not be started. */
interface Printed {
  readonly status: number | null;
  readonly stdout: string | null;
  readonly stderr: string | null;
}

/**
 * Reads what `listProcessesScript` printed.
 * @throws Error unless the listing is whole: one that failed must not look like a machine without processes.
 */
export function parseWindowsProcesses({ status, stdout, stderr }: Printed): WindowsProcess[] {
  const lines = (stdout ?? '').trimEnd().split(/\r?\n/);
  if (status !== 0 || lines.at(-1) !== LISTING_END) {
    const said = (stderr ?? '').trim().slice(0, 500);
    throw new Error(
      `the list of processes is not whole: powershell.exe ended with ${String(status)} after ${lines.length} lines: ${said}`,
    );
  }
  return lines.flatMap((line) => {
    const match = /^(\d+)\t(\d+)\t(\d+)$/.exec(line);
    const [, pid, parentPid, startedAt] = match ?? [];
    if (pid === undefined || parentPid === undefined || startedAt === undefined) return [];
    return [{ pid: Number(pid), parentPid: Number(parentPid), startedAt }];
  });
}
