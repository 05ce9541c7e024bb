import { ANY_PRIVILEGE, asAgent, ifRestricted, type PreflightCheck } from './preflight-check.ts';

const DENIED = 'the system denies every try';
const NO_WAY = 'every way is denied or not there';

/** What the agent tries against the machine it is on. */
export const MACHINE_CHECKS: readonly PreflightCheck[] = [
  asAgent('task-token', 'looks for a token in environments, arguments and files', 'none is found', {
    kind: 'script',
    linux: `places=$(ls -d /proc/[0-9]*/environ /proc/[0-9]*/cmdline; find /etc /home /opt/examhall /run /tmp /var/lib/examhall /var/log /var/tmp -xdev -type f -size -4096k -not -path '*/node/*' 2>/dev/null | head -n 20000)
count=$(printf '%s\\n' "$places" | wc -l)
found=$(printf '%s\\n' "$places" | tr '\\n' '\\0' | xargs -0 grep -lsaE "$token" 2>/dev/null | head -5)
if [ "$count" -lt 5 ]; then report unknown "only $count places could be looked at"
elif [ -n "$found" ]; then report reached "found in $found"; else report refused "not in $count places"; fi`,
    windows: `$found = @(Get-ChildItem Env: | Where-Object { $_.Value -match $token } | ForEach-Object Name)
$found += @(Get-CimInstance Win32_Process | Where-Object { $_.CommandLine -match $token -and $_.ProcessId -ne $PID } | ForEach-Object Name)
$found += @(Get-ChildItem @('C:\\examhall', 'C:\\ProgramData\\ExamHall', $env:TEMP, $HOME) -Recurse -File -ErrorAction SilentlyContinue | Where-Object Length -lt 4MB | Select-String -Pattern $token -List -ErrorAction SilentlyContinue | ForEach-Object Path)
if ($found.Count) { report reached "found in $found" } else { report refused 'found nowhere' }`,
  }),
  asAgent('write-results', 'writes, replaces and removes results of jobs', DENIED, {
    kind: 'script',
    linux: `try_it 'write a result' sh -c ': > "$0/preflight.json"' "$jobs"
try_it 'move the jobs' sh -c 'mv "$0" "$0.moved" && mv "$0.moved" "$0"' "$jobs"
try_it 'list the jobs' ls "$jobs/"
settle`,
    windows: `try_it 'write a result' { Set-Content "$jobs\\preflight.json" x -ErrorAction Stop }
try_it 'move the jobs' { Rename-Item $jobs moved -ErrorAction Stop }
try_it 'list the jobs' { Get-ChildItem $jobs -ErrorAction Stop }
settle`,
  }),
  asAgent('read-runner-secrets', "reads the runner's key, its environment and its memory", DENIED, {
    kind: 'script',
    linux: `try_it 'read the key' cat "$runner_key"
for pid in $(ls /proc | grep '^[0-9]*$'); do
  is_roots "$pid" || continue
  try_it "read the environment of $pid" cat "/proc/$pid/environ"
  try_it "read the memory of $pid" head -c 1 "/proc/$pid/mem"
done
settle`,
    windows: `try_it 'read the key' { Get-Content $runner_key -ErrorAction Stop }
settle`,
  }),
  asAgent('replace-runner', "replaces the runner's program", DENIED, {
    kind: 'script',
    linux: `try_it 'write the runner' sh -c ': >> "$0"' "$runner"
try_it 'write its Node' sh -c ': >> "$0"' "$node"
try_it 'move its folder' sh -c 'mv "$0" "$0.moved" && mv "$0.moved" "$0"' "$(dirname "$runner")"
settle`,
    windows: `try_it 'write the runner' { Add-Content $runner '' -ErrorAction Stop }
try_it 'write its Node' { [IO.File]::OpenWrite($node).Close() }
settle`,
  }),
  asAgent('signal-root', 'may end processes of root, the runner and the SSM agent among them', DENIED, {
    kind: 'script',
    linux: `for pid in $(ls /proc | grep '^[0-9]*$'); do
  is_roots "$pid" && try_it "signal $pid" kill -0 "$pid"
done
settle`,
    windows: `Get-Process @('amazon-ssm-agent', 'ssm-agent-worker') -ErrorAction SilentlyContinue | ForEach-Object {
  $process = $_; try_it "open $($process.Id)" { if (-not $process.Handle) { throw 'Access is denied' } } }
settle`,
  }),
  ifRestricted(
    asAgent('become-root', 'becomes root', NO_WAY, {
      kind: 'script',
      linux: `real=1
try_it sudo sudo -n true
try_it su su -c true root
try_it 'set its user' setpriv --reuid 0 true
try_it 'run as a service' systemd-run --wait --quiet true
settle`,
      windows: `$real = $true
if (([Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()).IsInRole('Administrators')) { $script:reached = 'is an administrator' }
try_it 'become an administrator' { net localgroup Administrators $env:USERNAME /add 2>&1 | Out-Null; if ($LASTEXITCODE) { throw 'denied' } }
settle`,
    }),
  ),
  ifRestricted(
    asAgent('stop-timer', "stops the guest's own shutdown timer", NO_WAY, {
      kind: 'script',
      linux: `real=1
try_it 'cancel the shutdown' shutdown -c
for timer in $(systemctl list-units --all --plain --no-legend 'examhall*' 2>/dev/null | cut -d ' ' -f 1); do
  try_it "stop $timer" systemctl --no-ask-password stop "$timer"; done
settle`,
      windows: `$real = $true
try_it 'cancel the shutdown' { shutdown /a 2>&1 | Out-Null; if ($LASTEXITCODE) { throw "shutdown ended with $LASTEXITCODE" } }
settle`,
    }),
  ),
  asAgent('start-later', 'has something started after its job has been stopped', NO_WAY, {
    kind: 'script',
    linux: `real=1
try_it cron sh -c 'command -v crontab > /dev/null && echo "* * * * * true" | crontab -'
try_it at sh -c 'command -v at > /dev/null && echo true | at now + 1 minute'
try_it linger loginctl enable-linger
setsid sh -c "trap '' TERM HUP INT; : $outlives; while :; do sleep 1; done" > /dev/null 2>&1 < /dev/null &
settle`,
    windows: `$real = $true
try_it 'a scheduled task of the system' { schtasks /create /tn preflight /tr cmd.exe /sc minute /ru SYSTEM /f 2>&1 | Out-Null; if ($LASTEXITCODE) { throw 'denied' } }
schtasks /create /tn $outlives /tr "cmd.exe /c rem $outlives" /sc minute /f 2>&1 | Out-Null
Start-Process powershell.exe -WindowStyle Hidden -ArgumentList '-NoProfile', '-Command', "Start-Sleep 3600 # $outlives"
settle`,
  }),
];

/** Run once the job that ran the agent's checks has been stopped. */
export const AFTERWARDS: PreflightCheck = {
  id: 'outlive-stop',
  tries: 'goes on, or comes again, after its job has been stopped',
  refusedWhen: 'no process and no task of it is left',
  from: 'root',
  privileges: ANY_PRIVILEGE,
  way: {
    kind: 'script',
    linux: `left=$(grep -lsaE -- "[e]\${outlives#e}" /proc/[0-9]*/cmdline | tr -dc '0-9\\n' | tr '\\n' ' ')
if [ -n "$left" ]; then report reached "still alive: $left"; else report refused 'no process of it is left'; fi`,
    windows: `$left = @(Get-ScheduledTask -ErrorAction Stop | Where-Object { $_.TaskName -eq $outlives } | ForEach-Object { "task $($_.TaskName)" })
$left += @(Get-CimInstance Win32_Process -ErrorAction Stop | Where-Object { $_.CommandLine -like "*$outlives*" -and $_.ProcessId -ne $PID } | ForEach-Object { "process $($_.ProcessId)" })
if ($left.Count) { report reached "still there: $left" } else { report refused 'no task and no process of it is left' }`,
  },
};
