import { quotePowerShell } from './cua/windows-shell.ts';

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

/** Reference archives by name, and reference folders of task data; in every local file system, mounted or not. */
const LINUX_SCAN = `set -u
export LC_ALL=C.UTF-8
roots=$(findmnt -rn -o TARGET -t ext2,ext3,ext4,xfs,btrfs,zfs,ntfs,ntfs3,fuseblk,vfat,exfat)
[ -n "$roots" ] || { echo 'UNSEEN every volume: none is mounted as a known file system'; exit 1; }
printf '%s\\n' "$roots" | while IFS= read -r root; do
  find "$root" -xdev \\( -iname 'reference.7z*' -o -iname 'reference.zip' -o -iname 'reference.tar*' -o -iname 'reference.rar' \\
    -o -type d -name reference -path '*/agenthle/*' \\) -prune -print0 2>/dev/null
done | sort -zu | head -z -n ${String(MOST_PATHS)} | tr '\\n\\0' '?\\n' | sed 's/^/FOUND /'
lsblk -rno NAME,FSTYPE,MOUNTPOINT | awk '$2 != "" && $3 == "" && $2 !~ /^(swap|squashfs|LVM2_member|linux_raid_member|zfs_member)$/ {print "UNSEEN " $1 " (" $2 ", not mounted)"}'
echo DONE
`;

const LINUX_WIPE = `set -u
export LC_ALL=C.UTF-8
findmnt -rn -o TARGET -t ext2,ext3,ext4,xfs,btrfs,zfs,ntfs,ntfs3,fuseblk,vfat,exfat | while IFS= read -r root; do
  find "$root" -xdev \\( -iname 'reference.7z*' -o -iname 'reference.zip' -o -iname 'reference.tar*' -o -iname 'reference.rar' \\
    -o -type d -name reference -path '*/agenthle/*' \\) -prune -print0 2>/dev/null
done | sort -zu | while IFS= read -r -d '' place; do
  find "$place" -type f -exec shred -n 1 -u -- {} +
  rm -rf -- "$place"
done
sync
fstrim -a 2>/dev/null || true
echo DONE
`;

const WINDOWS_SCAN = `$ErrorActionPreference = 'Stop'
$found = New-Object System.Collections.Generic.List[string]
foreach ($drive in Get-PSDrive -PSProvider FileSystem) {
  foreach ($name in 'reference.7z*', 'reference.zip', 'reference.tar*', 'reference.rar') {
    Get-ChildItem -LiteralPath $drive.Root -Recurse -Force -File -Filter $name -ErrorAction SilentlyContinue | ForEach-Object { $found.Add($_.FullName) }
  }
  Get-ChildItem -LiteralPath $drive.Root -Recurse -Force -Directory -Filter 'reference' -ErrorAction SilentlyContinue |
    Where-Object { $_.FullName -like '*\\agenthle\\*' } | ForEach-Object { $found.Add($_.FullName) }
}
`;

const WINDOWS_REPORT = `$found | Sort-Object -Unique | Select-Object -First ${String(MOST_PATHS)} | ForEach-Object { "FOUND $_" }
Get-Volume | Where-Object { -not $_.DriveLetter -and $_.DriveType -eq 'Fixed' -and $_.FileSystemLabel -notmatch '^(System Reserved|Recovery)$' -and $_.Size -gt 1GB } |
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

/** Removes what belongs to this one machine, so that no copy has its keys, and lets the next one's first boot run. */
export function sealScript(os: AdoptedOs): string {
  if (os === 'linux')
    return `set -u
rm -rf /var/lib/examhall/key /var/lib/examhall/jobs/* /etc/examhall/sandbox.env /opt/examhall/boot.tar.gz
rm -f /etc/systemd/system/examhall-deadman.* /root/.bash_history /home/*/.bash_history /root/.ssh/authorized_keys /home/*/.ssh/authorized_keys
rm -f /etc/ssh/ssh_host_*_key*
systemctl daemon-reload
command -v cloud-init >/dev/null && cloud-init clean --logs --machine-id
sync
if [ -e /var/lib/examhall/key ] || [ -e /etc/examhall/sandbox.env ]; then exit 1; fi
echo DONE
`;
  return `$ErrorActionPreference = 'Stop'
foreach ($place in 'C:\\ProgramData\\ExamHall\\key', 'C:\\ProgramData\\ExamHall\\sandbox.json', 'C:\\examhall\\boot.tar.gz') {
  if (Test-Path -LiteralPath $place) { Remove-Item -LiteralPath $place -Force }
}
Get-ChildItem -LiteralPath 'C:\\ProgramData\\ExamHall\\jobs' -Force -ErrorAction SilentlyContinue | Remove-Item -Recurse -Force
Unregister-ScheduledTask -TaskName 'ExamHall-DeadMan' -Confirm:$false -ErrorAction SilentlyContinue
& "$env:ProgramFiles\\Amazon\\EC2Launch\\EC2Launch.exe" reset --clean
if ($LASTEXITCODE -ne 0) { throw 'EC2Launch could not be reset: the first boot of a copy would not run its user data' }
'DONE'
`;
}

/** User data of an adoption's machine: its own end, and the SSM agent where an image has none. */
export function adoptionUserData(os: AdoptedOs, minutes: number, region: string): string {
  if (!/^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/u.test(region)) throw new RangeError(`${JSON.stringify(region)} is no region`);
  if (os === 'windows') return `<powershell>\r\nshutdown.exe /s /f /t ${String(minutes * 60)}\r\n</powershell>\r\n`;
  const agent = `https://s3.${region}.amazonaws.com/amazon-ssm-${region}/latest/debian_amd64/amazon-ssm-agent.deb`;
  return `#!/bin/bash
shutdown -h +${String(minutes)}
systemctl list-unit-files | grep -q amazon-ssm-agent && exit 0
curl -fsSL --retry 5 -o /run/ssm-agent.deb '${agent}' && dpkg -i /run/ssm-agent.deb && systemctl enable --now amazon-ssm-agent
`;
}
