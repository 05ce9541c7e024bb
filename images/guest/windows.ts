import { quotePowerShell } from '#core/cua/windows-shell';

/** Command lines and PowerShell text for Windows guests, as pure functions. Unverified on a real Windows. */

/** PowerShell reading its script from standard input, so that nothing of it is seen in the process list. */
export function powerShellArgv(): string[] {
  return ['powershell.exe', '-NoLogo', '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-Command', '-'];
}

/** Kills a process with its children. */
export function taskkillArgv(pid: number): string[] {
  if (!Number.isInteger(pid) || pid <= 4) throw new TypeError(`${pid} is not the pid of a process that may be killed`);
  return ['taskkill.exe', '/T', '/F', '/PID', String(pid)];
}

/** The last line of a whole listing. */
export const LISTING_END = 'end of the processes';

/**
 * Prints one line for each process, of one user or of all, or for the one with a pid alone: pid, parent, start, separated by tabs;
 * then `LISTING_END`. Owners are asked for one by one, which takes seconds for a whole machine. One statement, because PowerShell reading from standard input goes on after one that failed. A process that ends while its owner is
 * asked for has none.
 */
export function listProcessesScript(user: string | null, pid: number | null = null): string {
  if (pid !== null && !Number.isInteger(pid)) throw new TypeError(`${pid} is no pid`);
  const which = pid === null ? '' : ` -Filter 'ProcessId = ${pid}'`;
  const filter =
    user === null
      ? ''
      : ` | Where-Object { (Invoke-CimMethod -InputObject $_ -MethodName GetOwner -ErrorAction SilentlyContinue).User -eq ${quotePowerShell(user)} }`;
  const started = '$(if ($_.CreationDate) { $_.CreationDate.ToFileTimeUtc() } else { 0 })';
  const line = `"$($_.ProcessId)\`t$($_.ParentProcessId)\`t${started}"`;
  const list = `Get-CimInstance Win32_Process${which} -ErrorAction Stop${filter} | ForEach-Object { ${line} }`;
  return `try { ${list}; '${LISTING_END}' } catch { [Console]::Error.WriteLine($_); exit 1 }\r\n`;
}

export interface WindowsProcess {
  readonly pid: number;
  readonly parentPid: number;
  readonly startedAt: string;
}

/** How a program ended and what it printed, which is nothing at all when it could not be started. */
export interface Printed {
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
