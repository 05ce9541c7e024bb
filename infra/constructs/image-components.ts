/** An image that Image Builder makes of a public one with the recipe of `images/<name>`. */
export interface ImageKind {
  readonly name: 'ubuntu-desktop' | 'windows-desktop';
  readonly platform: 'Linux' | 'Windows';
  /** Amazon's own managed image, the newest of it at each build. */
  readonly parent: string;
  readonly rootDevice: string;
  readonly volumeGiB: number;
  /** Image family that the result stands for, as environment files name it. */
  readonly family: string;
  readonly description: string;
}

export const IMAGE_KINDS: readonly ImageKind[] = [
  {
    name: 'ubuntu-desktop',
    platform: 'Linux',
    parent: 'ubuntu-server-22-lts-x86',
    rootDevice: '/dev/sda1',
    volumeGiB: 30,
    family: 'ale-ubuntu22',
    description: 'Exam Hall: Ubuntu 22.04 with runner, desktop and cua-server',
  },
  {
    name: 'windows-desktop',
    platform: 'Windows',
    parent: 'windows-server-2022-english-full-base-x86',
    rootDevice: '/dev/sda1',
    volumeGiB: 60,
    family: 'ale-win-server',
    description: 'Exam Hall: Windows Server 2022 with runner, desktop and cua-server',
  },
];

export interface ArchiveInBucket {
  /** `s3://` address of the boot archive, which the build machine's role may read. */
  readonly s3Url: string;
  readonly sha256: string;
}

/**
 * The document that Image Builder runs: brings the recipe and runs it while building, and on a machine started from the new image
 * sets it up as a first boot does and runs the recipe's verify script. Unverified: no account has run it.
 */
export function componentDocument(kind: ImageKind, archive: ArchiveInBucket): object {
  const isLinux = kind.platform === 'Linux';
  const download = isLinux ? '/opt/examhall/boot.tar.gz' : 'C:\\examhall\\boot.tar.gz';
  const bring = { name: 'Bring', action: 'S3Download', inputs: [{ source: archive.s3Url, destination: download }] };
  // A download fails when the folder that it goes into is not there.
  const build = isLinux
    ? [bash('MakeFolder', ['install -d -m 0755 /opt/examhall']), bring, bash('Install', linuxInstall(archive))]
    : [powerShell('MakeFolder', WINDOWS_FOLDER), bring, powerShell('Install', windowsInstall(archive))];
  const test = isLinux
    ? [bash('Verify', LINUX_VERIFY)]
    : [
        powerShell('Configure', WINDOWS_CONFIGURE),
        { name: 'LogOn', action: 'Reboot', inputs: { delaySeconds: 10 } },
        powerShell('Verify', WINDOWS_VERIFY),
      ];
  return {
    name: `ExamHall-${kind.name}`,
    description: kind.description,
    schemaVersion: '1.0',
    phases: [
      { name: 'build', steps: build },
      { name: 'test', steps: test },
    ],
  };
}

const STEP_SECONDS = 3600;

function bash(name: string, commands: readonly string[]): object {
  return { name, action: 'ExecuteBash', timeoutSeconds: STEP_SECONDS, inputs: { commands: [commands.join('\n')] } };
}

function powerShell(name: string, commands: readonly string[]): object {
  return {
    name,
    action: 'ExecutePowerShell',
    timeoutSeconds: STEP_SECONDS,
    inputs: { commands: [commands.join('\n')] },
  };
}

function linuxInstall({ sha256 }: ArchiveInBucket): readonly string[] {
  return [
    'set -euo pipefail',
    `echo '${sha256}  /opt/examhall/boot.tar.gz' | sha256sum -c --quiet -`,
    'rm -rf /opt/examhall/boot',
    'mkdir -p /opt/examhall/boot',
    'tar -xzf /opt/examhall/boot.tar.gz -C /opt/examhall/boot --no-same-owner',
    '/bin/bash /opt/examhall/boot/linux/install.sh',
    'rm -rf /opt/examhall/boot /opt/examhall/boot.tar.gz',
  ];
}

const LINUX_VERIFY = [
  'set -euo pipefail',
  '/bin/bash /opt/examhall/linux/configure.sh',
  'for try in $(seq 60); do curl -fs http://127.0.0.1:5000/status >/dev/null && break; sleep 2; done',
  '/bin/bash /opt/examhall/linux/verify.sh',
];

const WINDOWS_FOLDER = [
  "$ErrorActionPreference = 'Stop'",
  "New-Item -ItemType Directory -Force -Path 'C:\\examhall' | Out-Null",
];

function windowsInstall({ sha256 }: ArchiveInBucket): readonly string[] {
  return [
    "$ErrorActionPreference = 'Stop'",
    "$seen = (Get-FileHash -LiteralPath 'C:\\examhall\\boot.tar.gz' -Algorithm SHA256).Hash",
    `if ($seen -ne '${sha256}') { throw "the boot archive has SHA-256 $seen" }`,
    "New-Item -ItemType Directory -Force -Path 'C:\\examhall\\boot' | Out-Null",
    "C:\\Windows\\System32\\tar.exe -xzf 'C:\\examhall\\boot.tar.gz' -C 'C:\\examhall\\boot'",
    'if ($LASTEXITCODE -ne 0) { throw "tar.exe ended with $LASTEXITCODE" }',
    "& 'C:\\examhall\\boot\\windows\\install.ps1'",
    "Remove-Item -Recurse -Force 'C:\\examhall\\boot', 'C:\\examhall\\boot.tar.gz'",
  ];
}

/** Sysprep wipes autologon, so it belongs to each machine and not to the image. */
const WINDOWS_CONFIGURE = [
  "$ErrorActionPreference = 'Stop'",
  '$settings = \'{"privilege":"restricted","resolution":"1920x1080","expiresAt":""}\'',
  "Set-Content -LiteralPath 'C:\\ProgramData\\ExamHall\\sandbox.json' -Value $settings -Encoding ascii",
  "& 'C:\\examhall\\windows\\configure.ps1'",
];

const WINDOWS_VERIFY = [
  "$ErrorActionPreference = 'Stop'",
  'for ($try = 0; $try -lt 60; $try++) {',
  "  try { Invoke-WebRequest -UseBasicParsing -Uri 'http://127.0.0.1:5000/status' -TimeoutSec 5 | Out-Null; break }",
  '  catch { Start-Sleep -Seconds 5 }',
  '}',
  "& 'C:\\examhall\\windows\\verify.ps1'",
  'exit $LASTEXITCODE',
];
