import { AGENT_ACCOUNTS, GUEST_PATHS } from './boot-script.ts';
import { encodeBase64 } from './base64.ts';
import { quotePowerShell } from './cua/windows-shell.ts';

type Os = 'linux' | 'windows';

const WALL_SECONDS = 240;

interface AgentRun {
  readonly script: string;
  readonly jobId: string;
  readonly privilege: 'restricted' | 'upstream';
}

/**
 * Runs a script as the agent's account in a job of the sandbox's runner, prints what it printed, and stops the job: what is left
 * of it then is for the next script to find. To be run as root or SYSTEM.
 */
export function agentRunScript(os: Os, { script, jobId, privilege }: AgentRun): string {
  if (!/^[A-Za-z0-9-]{1,60}$/u.test(jobId))
    throw new RangeError(`${JSON.stringify(jobId)} is no job id for a preflight`);
  const { runner, runnerNode, jobsDir } = GUEST_PATHS[os];
  const account = AGENT_ACCOUNTS[os];
  const argv =
    os === 'linux'
      ? ['/bin/sh', '-c', script]
      : ['powershell.exe', '-NoProfile', '-NonInteractive', '-Command', script];
  // As an agent's job has it.
  const isolation = {
    ...{ kind: 'none', ...(os === 'linux' ? { keepsDesktop: true } : {}) },
    ...(os === 'linux' && privilege === 'upstream' ? { allowsSudo: true } : {}),
  };
  const job = {
    ...{ version: 1, jobId, kind: 'exec', wallSeconds: WALL_SECONDS, account, isolation },
    ...{ argv, env: {}, cwd: account.home, stdin: null, outputLimitMiB: 4 },
  };
  const encoded = encodeBase64(new TextEncoder().encode(JSON.stringify(job)));
  const waitSeconds = String(WALL_SECONDS + 30);
  if (os === 'linux')
    return `set -u
run() { '${runnerNode}' '${runner}' "$@"; }
printf %s '${encoded}' | base64 -d | run start '${jobsDir}' >&2 || exit 1
run wait '${jobsDir}' '${jobId}' --timeout ${waitSeconds} >&2
cat '${jobsDir}/${jobId}/stdout'
run stop '${jobsDir}' '${jobId}' --uid ${String(AGENT_ACCOUNTS.linux.uid)} >&2
`;
  return `$ErrorActionPreference = 'Stop'
$OutputEncoding = [Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)
[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String(${quotePowerShell(encoded)})) | & '${runnerNode}' '${runner}' start '${jobsDir}' | Out-Null
if ($LASTEXITCODE -ne 0) { throw 'the runner took no job' }
& '${runnerNode}' '${runner}' wait '${jobsDir}' '${jobId}' --timeout ${waitSeconds} | Out-Null
Get-Content -Raw -Encoding utf8 -LiteralPath '${jobsDir}\\${jobId}\\stdout'
& '${runnerNode}' '${runner}' stop '${jobsDir}' '${jobId}' --account ${account.name} | Out-Null
`;
}

/** Prints the privilege that the sandbox was set up with. */
export function privilegeScript(os: Os): string {
  return os === 'linux'
    ? `sed -n 's/^EXAMHALL_PRIVILEGE=//p' /etc/examhall/sandbox.env`
    : `(Get-Content -Raw -LiteralPath 'C:\\ProgramData\\ExamHall\\sandbox.json' | ConvertFrom-Json).privilege`;
}

/** Runs the image's own look at itself, whose only line of output is JSON. */
export function verifyScript(os: Os): string {
  const { verify } = GUEST_PATHS[os];
  return os === 'linux'
    ? `exec /bin/bash '${verify}'`
    : `[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)\npowershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File '${verify}'\nexit $LASTEXITCODE`;
}
