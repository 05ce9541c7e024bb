/** One word of PowerShell, taken literally. PowerShell takes the typographic quotes for single quotes too. */
export function quotePowerShell(text: string): string {
  return `'${text.replace(/['\u2018\u2019\u201a\u201b]/g, '$&$&')}'`;
}

/** Runs a script through cmd.exe without any quoting: PowerShell takes it as base64 of UTF-16LE. */
export function encodedPowerShell(script: string): string {
  let bytes = '';
  for (let at = 0; at < script.length; at += 1) {
    const unit = script.charCodeAt(at);
    bytes += String.fromCharCode(unit & 0xff, unit >> 8);
  }
  return `powershell -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand ${btoa(bytes)}`;
}

/** Moves a file over another, or into its place. */
export function windowsMove(from: string, to: string): string {
  return encodedPowerShell(
    `$ErrorActionPreference='Stop'; Move-Item -Force -LiteralPath ${quotePowerShell(from)} -Destination ${quotePowerShell(to)}`,
  );
}

/** cmd.exe takes at most 8191 characters; what is longer, or has several lines, is run as a batch file. */
const COMMAND_LINE_LIMIT = 8_000;

/** The command with its output as UTF-8. */
export function windowsForeground(command: string): string {
  return `chcp 65001>nul & ${command}`;
}

export const fitsCommandLine = (command: string): boolean =>
  command.length <= COMMAND_LINE_LIMIT && !/[\r\n]/.test(command);

/** A batch file of the command, for what does not fit a command line. */
export function windowsBatch(command: string): string {
  return `@echo off\r\nchcp 65001>nul\r\n${command.replaceAll(/\r?\n/g, '\r\n')}\r\n`;
}

/**
 * The supervisor of a detached command: runs it hidden with files for what it prints, kills the whole tree when its time is
 * over, and writes `rc` last. `run` is what cmd.exe is given.
 */
export function windowsSupervisor(folder: string, timeoutSeconds: number, run: string): string {
  const file = (name: string): string => quotePowerShell(`${folder}\\${name}`);
  return [
    `$PID | Out-File -Encoding ascii ${file('supervisor')}`,
    `$p = Start-Process -FilePath cmd.exe -ArgumentList ${quotePowerShell(`/d /s /c "${run}"`)} -WindowStyle Hidden -PassThru -RedirectStandardInput ${file('in')} -RedirectStandardOutput ${file('out')} -RedirectStandardError ${file('err')}`,
    // Without a handle that is held, PowerShell forgets the exit code.
    '$null = $p.Handle',
    `$p.Id | Out-File -Encoding ascii ${file('pid')}`,
    `if (-not $p.WaitForExit(${timeoutSeconds * 1000})) { New-Item -ItemType File -Force ${file('timeout')} | Out-Null; taskkill /T /F /PID $p.Id | Out-Null }`,
    '$p.WaitForExit()',
    `$p.ExitCode | Out-File -Encoding ascii ${file('rc.part')}`,
    `Move-Item -Force -LiteralPath ${file('rc.part')} -Destination ${file('rc')}`,
    '',
  ].join('\r\n');
}

/** What cmd.exe is given by the supervisor for a command that lies in `cmd.bat` or fits the line. */
export function windowsRun(folder: string, command: string): string {
  return fitsCommandLine(command) ? windowsForeground(command) : `"${folder}\\cmd.bat"`;
}

/** Starts the supervisor through the shell, so that it inherits none of the server's pipes. */
export function windowsLaunch(folder: string): string {
  const argumentsText = quotePowerShell(
    `-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "${folder}\\supervise.ps1"`,
  );
  return encodedPowerShell(
    `$ErrorActionPreference='Stop'; Start-Process -FilePath powershell.exe -WindowStyle Hidden -ArgumentList ${argumentsText}`,
  );
}

/** Prints `done`, `running` or `lost`; safe to repeat. */
export function windowsProbe(folder: string): string {
  const file = (name: string): string => quotePowerShell(`${folder}\\${name}`);
  return encodedPowerShell(
    [
      `if (Test-Path -LiteralPath ${file('rc')}) { 'done'; exit }`,
      `if (-not (Test-Path -LiteralPath ${file('supervisor')})) { 'running'; exit }`,
      `$id = [int](Get-Content -LiteralPath ${file('supervisor')})`,
      `if (Get-Process -Id $id -ErrorAction SilentlyContinue) { 'running'; exit }`,
      `if (Test-Path -LiteralPath ${file('rc')}) { 'done' } else { 'lost' }`,
    ].join('\n'),
  );
}

export function windowsKill(folder: string): string {
  return encodedPowerShell(
    [
      `foreach ($name in 'supervisor','pid') { $f = Join-Path ${quotePowerShell(folder)} $name`,
      `if (Test-Path -LiteralPath $f) { taskkill /T /F /PID ([int](Get-Content -LiteralPath $f)) 2>$null | Out-Null } }`,
      'exit 0',
    ].join('\n'),
  );
}

export function windowsRemove(folder: string): string {
  return encodedPowerShell(`Remove-Item -Recurse -Force -LiteralPath ${quotePowerShell(folder)}; exit 0`);
}
