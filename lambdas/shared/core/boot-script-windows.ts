import type { BootFacts } from './boot-facts.ts';
import { quotePowerShell } from './cua/windows-shell.ts';

/**
 * User data for EC2Launch: sets the machine's own end first. It ends with a restart, since Windows logs the agent's account on
 * at boot only. EC2Launch v2 restarts a machine whose script ends with 3010, and calls the script again afterwards, which then
 * only sets the end again; a script that restarts the machine by itself is one that has never ended, and runs at every boot.
 */
export function windowsBootScript(facts: BootFacts): string {
  return `${[
    '<powershell>',
    `$ErrorActionPreference = 'Stop'`,
    `$ProgressPreference = 'SilentlyContinue'`,
    `[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12`,
    `$state = 'C:\\ProgramData\\ExamHall'`,
    `New-Item -ItemType Directory -Force -Path $state | Out-Null`,
    `Start-Transcript -Path "$state\\boot.log" -Append | Out-Null`,
    `try {`,
    ...[...deadMan(facts.endsAt), ...once(facts.expiresAt, firstBoot(facts))].map((line) => `  ${line}`),
    `} catch {`,
    `  Set-Content -LiteralPath "$state\\boot-failed.txt" -Value ($_ | Out-String) -Encoding utf8`,
    `  throw`,
    `} finally {`,
    `  Stop-Transcript | Out-Null`,
    `}`,
    `if ($isDone) { exit 0 }`,
    `if (Test-Path "$env:ProgramFiles\\Amazon\\EC2Launch\\EC2Launch.exe") { exit 3010 }`,
    // Older agents know no such code: by then they have taken down that the script has ended.
    `C:\\Windows\\System32\\shutdown.exe /r /f /t 30 /d p:0:0`,
    '</powershell>',
    '<runAsLocalSystem>true</runAsLocalSystem>',
  ].join('\r\n')}\r\n`;
}

/** The note says which user data it is of: an image that was made of a sandbox has that sandbox's. */
function once(expiresAt: string, lines: readonly string[]): string[] {
  const note = quotePowerShell(expiresAt);
  return [
    `$note = "$state\\boot-done"`,
    `$isDone = (Test-Path -LiteralPath $note) -and ((Get-Content -Raw -LiteralPath $note).Trim() -eq ${note})`,
    `if (-not $isDone) {`,
    ...[...lines, `Set-Content -LiteralPath $note -Value ${note} -Encoding ascii`].map((line) => `  ${line}`),
    `}`,
  ];
}

function firstBoot(facts: BootFacts): string[] {
  return [
    `New-Item -ItemType Directory -Force -Path 'C:\\examhall' | Out-Null`,
    // By SID: names of groups are translated.
    `icacls.exe 'C:\\examhall' /inheritance:r /grant:r '*S-1-5-18:(OI)(CI)F' '*S-1-5-32-544:(OI)(CI)F' '*S-1-5-32-545:(OI)(CI)RX' | Out-Null`,
    `if ($LASTEXITCODE -ne 0) { throw "icacls ended with $LASTEXITCODE" }`,
    // Jobs, results and the runner's key lie here: nothing of it is the agent's to read.
    `icacls.exe $state /inheritance:r /grant:r '*S-1-5-18:(OI)(CI)F' '*S-1-5-32-544:(OI)(CI)F' | Out-Null`,
    `if ($LASTEXITCODE -ne 0) { throw "icacls ended with $LASTEXITCODE" }`,
    ...settingsFile(facts),
    ...(facts.archive === null ? [] : fetchArchive(facts.archive)),
    ...setUp(facts),
  ];
}

function settingsFile({ privilege, resolution, expiresAt }: BootFacts): string[] {
  const settings = JSON.stringify({ privilege, resolution, expiresAt });
  return [`Set-Content -LiteralPath "$state\\sandbox.json" -Value ${quotePowerShell(settings)} -Encoding ascii`];
}

/** A task that was missed while the machine was down runs as soon as it is up again. */
function deadMan(endsAt: Date): string[] {
  const style = '[Globalization.DateTimeStyles]::RoundtripKind';
  return [
    `$endsAt = [DateTime]::Parse(${quotePowerShell(endsAt.toISOString())}, [Globalization.CultureInfo]::InvariantCulture, ${style}).ToLocalTime()`,
    `if ($endsAt -lt (Get-Date).AddMinutes(1)) { $endsAt = (Get-Date).AddMinutes(1) }`,
    `$action = New-ScheduledTaskAction -Execute 'C:\\Windows\\System32\\shutdown.exe' -Argument '/s /f /t 0 /d p:0:0'`,
    `$trigger = New-ScheduledTaskTrigger -Once -At $endsAt`,
    `$principal = New-ScheduledTaskPrincipal -UserId 'S-1-5-18' -LogonType ServiceAccount -RunLevel Highest`,
    `$options = New-ScheduledTaskSettingsSet -StartWhenAvailable -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries`,
    `Register-ScheduledTask -TaskName 'ExamHall-DeadMan' -Action $action -Trigger $trigger -Principal $principal -Settings $options -Force | Out-Null`,
  ];
}

function fetchArchive({ url, sha256 }: { readonly url: string; readonly sha256: string }): string[] {
  return [
    `$url = ${quotePowerShell(url)}`,
    `$archive = 'C:\\examhall\\boot.tar.gz'`,
    `for ($try = 1; ; $try++) {`,
    `  try { Invoke-WebRequest -UseBasicParsing -Uri $url -OutFile $archive -TimeoutSec 600; break }`,
    `  catch { if ($try -ge 8) { throw }; Start-Sleep -Seconds (3 * $try) }`,
    `}`,
    `$seen = (Get-FileHash -LiteralPath $archive -Algorithm SHA256).Hash`,
    `if ($seen -ne ${quotePowerShell(sha256)}) { throw "the boot archive has SHA-256 $seen" }`,
    `if (Test-Path 'C:\\examhall\\boot') { Remove-Item -Recurse -Force 'C:\\examhall\\boot' }`,
    `New-Item -ItemType Directory -Path 'C:\\examhall\\boot' | Out-Null`,
    `C:\\Windows\\System32\\tar.exe -xzf $archive -C 'C:\\examhall\\boot'`,
    `if ($LASTEXITCODE -ne 0) { throw "tar.exe ended with $LASTEXITCODE" }`,
  ];
}

function setUp({ isBare, archive }: BootFacts): string[] {
  const install = `& 'C:\\examhall\\boot\\windows\\install.ps1'`;
  return [
    ...(isBare ? [install] : archive === null ? [] : [`${install} -FilesOnly`]),
    `& 'C:\\examhall\\windows\\configure.ps1'`,
  ];
}
