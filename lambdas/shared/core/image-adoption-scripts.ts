import { quotePowerShell } from './cua/windows-shell.ts';
import { LOCAL_FILE_SYSTEMS, REFERENCE_NAMES } from './reference-material.ts';

export type AdoptedOs = 'linux' | 'windows';

export interface Archive {
  readonly url: string;
  readonly sha256: string;
}

/** What a scan saw. One that did not come to its end has seen nothing. */
export interface ScanResult {
  readonly isDone: boolean;
  /** Paths of reference material. */
  readonly found: readonly string[];
  /** Volumes that could not be looked into. */
  readonly unseen: readonly string[];
}

const MOST_PATHS = 100;

const LINUX_ROOTS = `findmnt -rn -o TARGET -t ${LOCAL_FILE_SYSTEMS.join(',')}`;

/** Of every root that is read, what must not be there, each ended by NUL. */
const LINUX_FIND = `while IFS= read -r root; do
  find "$(printf %b "$root")" -xdev \\( ${REFERENCE_NAMES.map((name) => `-iname '${name}'`).join(' -o ')} \\
    -o -type d -name reference -path '*/agenthle/*' \\) -prune -print0 2>/dev/null
done | sort -zu`;

/** Reference archives by name, and reference folders of task data; in every local file system, mounted or not. */
const LINUX_SCAN = `set -u
export LC_ALL=C.UTF-8
roots=$(${LINUX_ROOTS})
[ -n "$roots" ] || { echo 'UNSEEN every volume: none is mounted as a known file system'; exit 1; }
printf '%s\\n' "$roots" | ${LINUX_FIND} | head -z -n ${String(MOST_PATHS)} | tr '\\n\\0' '?\\n' | sed 's/^/FOUND /'
lsblk -rno NAME,FSTYPE,MOUNTPOINT | awk '$2 != "" && $3 == "" && $2 !~ /^(swap|squashfs|LVM2_member|linux_raid_member|zfs_member)$/ {print "UNSEEN " $1 " (" $2 ", not mounted)"}'
echo DONE
`;

const LINUX_WIPE = `set -u
export LC_ALL=C.UTF-8
${LINUX_ROOTS} | ${LINUX_FIND} | while IFS= read -r -d '' place; do
  find "$place" -type f -exec shred -n 1 -u -- {} +
  rm -rf -- "$place"
done
sync
fstrim -a 2>/dev/null || true
echo DONE
`;

const WINDOWS_SCAN = `$ErrorActionPreference = 'Stop'
$found = New-Object System.Collections.Generic.List[string]
$names = ${REFERENCE_NAMES.map((name) => `'${name}'`).join(', ')}
foreach ($drive in Get-PSDrive -PSProvider FileSystem) {
  Get-ChildItem -LiteralPath $drive.Root -Recurse -Force -Filter 'reference*' -ErrorAction SilentlyContinue | Where-Object {
    $item = $_
    if ($item.PSIsContainer) { $item.Name -eq 'reference' -and $item.FullName -like '*\\agenthle\\*' }
    else { @($names | Where-Object { $item.Name -like $_ }).Count -gt 0 }
  } | ForEach-Object { $found.Add($_.FullName) }
}
`;

const WINDOWS_REPORT = `$found | Sort-Object -Unique | Select-Object -First ${String(MOST_PATHS)} | ForEach-Object { "FOUND $_" }
Get-Volume | Where-Object { -not $_.DriveLetter -and $_.DriveType -eq 'Fixed' -and $_.FileSystemLabel -notmatch '^(System Reserved|Recovery)$' -and $_.Size -gt 1073741824 } |
  ForEach-Object { "UNSEEN $($_.UniqueId) ($($_.FileSystem), no drive letter)" }
Get-Disk | Where-Object { $_.OperationalStatus -ne 'Online' } | ForEach-Object { "UNSEEN disk $($_.Number) ($($_.OperationalStatus))" }
'DONE'
`;

const WINDOWS_WIPE = `foreach ($place in ($found | Sort-Object -Unique)) {
  foreach ($file in Get-ChildItem -LiteralPath $place -Recurse -Force -File) {
    $stream = [IO.File]::Open($file.FullName, 'Open', 'Write')
    try { $zeros = New-Object byte[] 1048576
      for ($left = $stream.Length; $left -gt 0; $left -= $zeros.Length) { $stream.Write($zeros, 0, [Math]::Min($left, $zeros.Length)) }
      $stream.Flush($true) } finally { $stream.Dispose() }
  }
  Remove-Item -LiteralPath $place -Recurse -Force
}
'DONE'
`;

/** Looks for what an image must not hold, with nothing but what its system has. Run as root or SYSTEM. */
export function scanScript(os: AdoptedOs): string {
  return os === 'linux' ? LINUX_SCAN : `${WINDOWS_SCAN}${WINDOWS_REPORT}`;
}

/** Overwrites and removes what a scan finds: blocks of a file that was only removed could still be read from the disk. */
export function wipeScript(os: AdoptedOs): string {
  return os === 'linux' ? LINUX_WIPE : `${WINDOWS_SCAN}${WINDOWS_WIPE}`;
}

/** What a scan printed. */
export function readScan(stdout: string): ScanResult {
  const lines = stdout.split(/\r?\n/u);
  const after = (mark: string): string[] =>
    lines.flatMap((line) => (line.startsWith(`${mark} `) ? [line.slice(mark.length + 1)] : []));
  return { isDone: lines.includes('DONE'), found: after('FOUND'), unseen: after('UNSEEN') };
}

const SHA256 = /^[0-9a-f]{64}$/u;
const URL_TEXT = /^https?:\/\/[!#-&(-;=?-~]+$/u;

/**
 * Brings the boot archive and runs its `adopt`: runner, agent's account, cua-server as that account. The last line of output is
 * what `verify` says. @throws RangeError for an archive that could not stand in a script.
 */
export function deriveScript(os: AdoptedOs, { url, sha256 }: Archive): string {
  if (!URL_TEXT.test(url) || !SHA256.test(sha256))
    throw new RangeError(`the archive ${JSON.stringify(url)} ${sha256} is no http(s) URL with a SHA-256`);
  if (os === 'linux')
    return `set -euo pipefail
umask 022
mkdir -p /etc/examhall /opt/examhall
printf 'EXAMHALL_PRIVILEGE=restricted\\nEXAMHALL_RESOLUTION=1920x1080\\n' >/etc/examhall/sandbox.env
curl -fsSL --retry 5 --retry-all-errors --max-time 600 -o /opt/examhall/boot.tar.gz '${url}' >&2
echo '${sha256}  /opt/examhall/boot.tar.gz' | sha256sum -c --quiet - >&2
rm -rf /opt/examhall/boot
mkdir /opt/examhall/boot
tar -xzf /opt/examhall/boot.tar.gz -C /opt/examhall/boot --no-same-owner >&2
bash /opt/examhall/boot/linux/adopt.sh | tail -n 1
`;
  return `$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
New-Item -ItemType Directory -Force -Path 'C:\\examhall\\boot', 'C:\\ProgramData\\ExamHall' | Out-Null
Set-Content -LiteralPath 'C:\\ProgramData\\ExamHall\\sandbox.json' -Value '{"privilege":"restricted","resolution":"1920x1080"}' -Encoding ascii
Invoke-WebRequest -UseBasicParsing -Uri ${quotePowerShell(url)} -OutFile 'C:\\examhall\\boot.tar.gz' -TimeoutSec 600
if ((Get-FileHash 'C:\\examhall\\boot.tar.gz' -Algorithm SHA256).Hash.ToLower() -ne '${sha256}') { throw 'the archive is not the one that was published' }
tar.exe -xzf 'C:\\examhall\\boot.tar.gz' -C 'C:\\examhall\\boot'
if ($LASTEXITCODE -ne 0) { throw 'the archive cannot be unpacked' }
powershell.exe -NoProfile -ExecutionPolicy Bypass -File 'C:\\examhall\\boot\\windows\\adopt.ps1' | Select-Object -Last 1
exit $LASTEXITCODE
`;
}

/**
 * Removes what belongs to this one machine, so that no copy has its keys, and lets the next one's first boot run, which alone
 * starts the desktop of a copy.
 */
export function sealScript(os: AdoptedOs): string {
  if (os === 'linux')
    return `set -u
systemctl disable --now examhall-desktop.target
rm -rf /var/lib/examhall/key /var/lib/examhall/jobs/* /etc/examhall/sandbox.env /opt/examhall/boot.tar.gz
rm -f /etc/systemd/system/examhall-deadman.* /etc/systemd/system/*.wants/examhall-deadman.* /var/lib/systemd/timers/stamp-examhall-*
rm -f /root/.bash_history /home/*/.bash_history /root/.ssh/authorized_keys /home/*/.ssh/authorized_keys
rm -f /etc/ssh/ssh_host_*_key*
systemctl daemon-reload
command -v cloud-init >/dev/null && cloud-init clean --logs --machine-id
sync
if [ -e /var/lib/examhall/key ] || [ -e /etc/examhall/sandbox.env ]; then exit 1; fi
if systemctl is-enabled --quiet examhall-desktop.target; then exit 1; fi
echo DONE
`;
  return `$ErrorActionPreference = 'Stop'
foreach ($name in 'key', 'sandbox.json', 'boot-done', 'boot-failed.txt', 'boot.log') {
  if (Test-Path -LiteralPath "C:\\ProgramData\\ExamHall\\$name") { Remove-Item -LiteralPath "C:\\ProgramData\\ExamHall\\$name" -Force }
}
foreach ($place in 'C:\\examhall\\boot.tar.gz', 'C:\\examhall\\boot') {
  if (Test-Path -LiteralPath $place) { Remove-Item -LiteralPath $place -Recurse -Force }
}
Get-ChildItem -LiteralPath 'C:\\ProgramData\\ExamHall\\jobs' -Force -ErrorAction SilentlyContinue | Remove-Item -Recurse -Force
Get-ScheduledTask -TaskName 'ExamHall-*' -ErrorAction SilentlyContinue | Unregister-ScheduledTask -Confirm:$false
$logon = 'HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon'
Set-ItemProperty -Path $logon -Name AutoAdminLogon -Value '0' -Type String
Remove-ItemProperty -Path $logon -Name @('DefaultPassword', 'ForceAutoLogon') -ErrorAction SilentlyContinue
Disable-LocalUser -Name 'User'
& "$env:ProgramFiles\\Amazon\\EC2Launch\\EC2Launch.exe" reset --clean
if ($LASTEXITCODE -ne 0) { throw 'EC2Launch could not be reset: the first boot of a copy would not run its user data' }
'DONE'
`;
}

interface AdoptionEnd {
  readonly minutes: number;
  /** ISO-8601 UTC. */
  readonly endsAt: string;
  readonly region: string;
}

/**
 * User data of an adoption's machine: its own end, said again at every boot, and the SSM agent where an image has none. Nothing
 * of the end lies on a disk that an image is made of. @throws RangeError for a value that is not of its form.
 */
export function adoptionUserData(os: AdoptedOs, { minutes, endsAt, region }: AdoptionEnd): string {
  if (!/^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/u.test(region)) throw new RangeError(`${JSON.stringify(region)} is no region`);
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/u.test(endsAt))
    throw new RangeError(`${JSON.stringify(endsAt)} is no ISO-8601 time in UTC`);
  if (os === 'windows')
    return `<powershell>\r
$left = [int][Math]::Max(60, ([DateTimeOffset]::Parse('${endsAt}') - [DateTimeOffset]::UtcNow).TotalSeconds)\r
shutdown.exe /s /f /t $left\r
</powershell>\r
<persist>true</persist>\r
`;
  const agent = `https://s3.${region}.amazonaws.com/amazon-ssm-${region}/latest/debian_amd64/amazon-ssm-agent.deb`;
  return multipart([
    ['cloud-boothook', adoptionEndScript(endsAt)],
    [
      'x-shellscript',
      `#!/bin/bash
shutdown -h +${String(minutes)}
systemctl list-unit-files | grep -q amazon-ssm-agent && exit 0
curl -fsSL --retry 5 -o /run/ssm-agent.deb '${agent}' && dpkg -i /run/ssm-agent.deb && systemctl enable --now amazon-ssm-agent
`,
    ],
  ]);
}

/** Run by cloud-init at every boot, before any user may log on. */
function adoptionEndScript(endsAt: string): string {
  return `#!/bin/bash
ends_at='${endsAt.slice(0, 19).replace('T', ' ')} UTC'
left=$(($(date -d "$ends_at" +%s) - $(date +%s)))
if [ "$left" -lt 60 ]; then left=60; fi
mkdir -p /run/systemd/system
cat >/run/systemd/system/examhall-adoption-end.service <<'EOF'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/systemctl --force poweroff
EOF
cat >/run/systemd/system/examhall-adoption-end.timer <<EOF
[Unit]
DefaultDependencies=no
[Timer]
OnCalendar=$ends_at
OnActiveSec=\${left}s
AccuracySec=5s
EOF
systemctl daemon-reload
systemctl start --no-block examhall-adoption-end.timer
`;
}

function multipart(parts: readonly (readonly [type: string, text: string])[]): string {
  const bodies = parts.map(
    ([type, text]) => `--examhall\nContent-Type: text/${type}; charset="us-ascii"\nMIME-Version: 1.0\n\n${text}`,
  );
  const head = 'Content-Type: multipart/mixed; boundary="examhall"\nMIME-Version: 1.0\n\n';
  return `${head}${bodies.join('')}--examhall--\n`;
}
