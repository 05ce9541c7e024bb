import { quotePowerShell } from '#core/cua/windows-shell';
import { LISTING_END, type Printed } from './windows.ts';

/** PowerShell that ends a local account of Windows, and looks at what is left of it. Pure. Unverified on a real Windows. */

/** Scripts are read in the console's code page, so that only plain names may stand in them. */
const ACCOUNT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,19}$/;

const UTF8 = '[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)';

/** An account of this machine alone: neither SYSTEM nor a service has a SID that `Get-LocalUser` finds. */
function sidOf(account: string): string {
  if (!ACCOUNT_NAME.test(account))
    throw new TypeError(`${JSON.stringify(account)} is not a local account: 1 to 20 of A-Za-z0-9._- are`);
  return `$sid = (Get-LocalUser -Name ${quotePowerShell(account)} -ErrorAction SilentlyContinue).SID.Value`;
}

/** `$all` with processes; `$own` with those of the account. One that ends while its owner is asked for has none. */
const OWN_PROCESSES =
  '$own = @($all | Where-Object { (Invoke-CimMethod -InputObject $_ -MethodName GetOwnerSid -ErrorAction SilentlyContinue).Sid -eq $sid })';

/** A task says by name or by SID whose it is. */
const SID_OF_TASK =
  "function Get-TaskSid($task) { $id = [string]$task.Principal.UserId; if ($id -eq '' -or $id -like 'S-1-*') { $id } else { try { (New-Object Security.Principal.NTAccount $id).Translate([Security.Principal.SecurityIdentifier]).Value } catch { '' } } }";

/**
 * Ends all of an account. Nothing is spared: the logon task's `session`, the shell and the cua-server run as the agent, so the
 * agent may have put its own code into any of them, and a shell that is killed alone is started again by Windows, with the
 * extensions that its user has chosen. The account is shut first, so that neither autologon nor a task, a `runas` or a job of a
 * service begins anything new as it; then go its tasks, its sessions with everything in them, and what runs outside of them.
 * What the desktop manager and winlogon run belongs to other accounts. Safe to repeat; a step that fails shows in the look.
 */
export function endAccountScript(account: string): string {
  const tasks = 'Get-ScheduledTask | Where-Object { (Get-TaskSid $_) -eq $sid }';
  return [
    UTF8,
    `$ErrorActionPreference = 'SilentlyContinue'`,
    sidOf(account),
    `if (-not $sid) { exit 1 }`,
    `Disable-LocalUser -SID $sid`,
    SID_OF_TASK,
    `${tasks} | ForEach-Object { Stop-ScheduledTask -InputObject $_; Unregister-ScheduledTask -InputObject $_ -Confirm:$false }`,
    `$all = @(Get-CimInstance Win32_Process)`,
    OWN_PROCESSES,
    // Session 0 is that of the services, and of this script.
    `$own | ForEach-Object { $_.SessionId } | Where-Object { $_ -ne 0 } | Sort-Object -Unique | ForEach-Object { logoff.exe $_ 2>&1 | Out-Null }`,
    `$own | ForEach-Object { taskkill.exe /F /PID $_.ProcessId 2>&1 | Out-Null }`,
    `exit 0`,
    '',
  ].join('\r\n');
}

/**
 * Prints one line for each thing of the account that is left: its kind and its name, separated by a tab; then `LISTING_END`. One
 * statement, because PowerShell reading from standard input goes on after one that failed. An account that is not there is one
 * that somebody has renamed.
 */
export function lookAtAccountScript(account: string): string {
  const processes = `${OWN_PROCESSES}; $own | ForEach-Object { "process\`t$($_.ProcessId) $($_.Name)" }`;
  const tasks = `Get-ScheduledTask -ErrorAction Stop | Where-Object { (Get-TaskSid $_) -eq $sid } | ForEach-Object { "task\`t$($_.TaskPath)$($_.TaskName)" }`;
  const open = `if ((Get-LocalUser -SID $sid -ErrorAction Stop).Enabled) { "account\`tis open" }`;
  const look = `$all = @(Get-CimInstance Win32_Process -ErrorAction Stop); ${processes}; ${tasks}; ${open}`;
  const whole = `if (-not $sid) { "account\`tis not there" } else { ${look} }; ${quotePowerShell(LISTING_END)}`;
  return [
    UTF8,
    SID_OF_TASK,
    sidOf(account),
    `try { ${whole} } catch { [Console]::Error.WriteLine($_); exit 1 }`,
    '',
  ].join('\r\n');
}

const KINDS = ['process', 'task', 'account'];
const NAME_CHARACTERS = 100;

/**
 * What `lookAtAccountScript` saw, by kind and name.
 * @throws Error unless the look is whole: one that failed must not look like an account of which nothing is left.
 */
export function parseAccountLook({ status, stdout, stderr }: Printed): string[] {
  const lines = (stdout ?? '').trimEnd().split(/\r?\n/);
  if (status !== 0 || lines.at(-1) !== LISTING_END) {
    const said = (stderr ?? '').trim().slice(0, 500);
    throw new Error(`the look at the account is not whole: powershell.exe ended with ${String(status)}: ${said}`);
  }
  return lines.flatMap((line) => {
    const [kind = '', name] = line.split('\t');
    return name === undefined || !KINDS.includes(kind) ? [] : [`${kind} ${name}`.slice(0, NAME_CHARACTERS)];
  });
}
