import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCuaClient, type CuaClient, type CuaEndpoint } from '#adapters/cua-client';
import { isBlackPicture } from '#adapters/png-pixels';
import type { ExecJob } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { DESKTOP_JOB } from './desktop-job.ts';
import { RELAY_JOB } from './desktop-network.ts';
import { loadGuestRunner } from './guest-bundle.ts';
import { firstLineOf, headOf, tailOf } from './job-output.ts';
import type { SandboxFolder } from './sandbox-folder.ts';
import { startDetached } from './start-job.ts';

/** A computer on which everything is busy takes long to start four desktops at once. */
const START_LIMIT_SECONDS = 120;
const POLL_MILLISECONDS = 50;
const HEAD_BYTES = 64 * 1024;

/** A few of the commands without which no task can be set or solved. */
const NEEDED_COMMANDS = ['version', 'screenshot', 'left_click', 'type_text', 'launch', 'run_command'];

export interface StartPlan {
  readonly guestRunner: string;
  readonly folder: SandboxFolder;
  readonly jobs: readonly ExecJob[];
  /** Null until the server's own log has named its port. */
  readonly endpoint: CuaEndpoint | null;
  readonly size: { readonly width: number; readonly height: number };
}

export interface StartedDesktop {
  readonly display: string;
  readonly endpoint: CuaEndpoint;
  readonly serverVersion: string;
}

/**
 * Starts the desktop's jobs and waits until its server answers and its screen can be seen.
 * @throws ProvisionFailedError with what X and the server said.
 */
export async function startDesktop(plan: StartPlan): Promise<StartedDesktop> {
  await Promise.all(plan.jobs.map((job) => startDetached(plan.guestRunner, plan.folder.jobs, job)));
  const until = performance.now() + START_LIMIT_SECONDS * 1000;
  let trouble: unknown = 'it said nothing';
  while (performance.now() < until) {
    await refuseEnded(plan);
    const display = displayOf(plan.folder);
    const endpoint = plan.endpoint ?? endpointOf(plan.folder);
    if (display !== null && endpoint !== null) {
      const answer = await tryServer(endpoint, plan).catch((error: unknown) => {
        if (error instanceof ExamHallError) throw error;
        trouble = error;
      });
      if (answer !== undefined) return { display, endpoint, serverVersion: answer };
    }
    await sleep(POLL_MILLISECONDS);
  }
  throw failure(plan, `it was not ready within ${START_LIMIT_SECONDS} s: ${String(trouble)}`);
}

/** The display that Xvfb took; null while it has none. */
export function displayOf(folder: SandboxFolder): string | null {
  return /^display (:\d+)$/.exec(firstLineOf(outputOf(folder, 'stdout')) ?? '')?.[1] ?? null;
}

/** Where the server's log says that it listens. */
function endpointOf(folder: SandboxFolder): CuaEndpoint | null {
  const log = headOf(outputOf(folder, 'stderr'), HEAD_BYTES);
  const url = /Uvicorn running on (http:\/\/127\.0\.0\.1:[1-9]\d*)/.exec(log)?.[1];
  return url === undefined ? null : { url, socketPath: null };
}

async function tryServer(endpoint: CuaEndpoint, plan: StartPlan): Promise<string> {
  const client = createCuaClient(endpoint, { defaultTimeoutSeconds: 20 });
  try {
    const { package: version } = await client.version();
    await refuseUnusable(client, plan);
    return version;
  } finally {
    client.close();
  }
}

/** A server that answers and cannot be used will not get better by waiting. @throws ProvisionFailedError. */
async function refuseUnusable(client: CuaClient, plan: StartPlan): Promise<void> {
  const commands = await client.commands();
  const missing = NEEDED_COMMANDS.filter((name) => commands?.has(name) !== true);
  if (missing.length > 0) throw failure(plan, `its server lacks the commands ${missing.join(', ')}`);
  const { png, width, height } = await client.screenshot();
  if (width !== plan.size.width || height !== plan.size.height)
    throw failure(plan, `its screen is ${width}x${height} instead of ${plan.size.width}x${plan.size.height}`);
  if (await isBlackPicture(png)) throw failure(plan, 'its screenshot is black');
}

/** @throws ProvisionFailedError when one of the jobs has ended. */
async function refuseEnded(plan: StartPlan): Promise<void> {
  const runner = await loadGuestRunner(plan.guestRunner);
  for (const { jobId } of plan.jobs) {
    const status = await runner.status(plan.folder.jobs, jobId);
    if (status.state !== 'finished') continue;
    const { end, exitCode, signal, message } = status.result;
    const how = signal ?? (exitCode === null ? end : `exit code ${exitCode}`);
    throw failure(plan, `job ${jobId} ended with ${how}${message === null ? '' : ` (${message})`}`);
  }
}

function failure(plan: StartPlan, what: string): ExamHallError {
  const said = [DESKTOP_JOB, RELAY_JOB]
    .map((jobId) => tailOf(path.join(plan.folder.jobs, jobId, 'stderr')).trim())
    .filter((text) => text !== '')
    .join('\n');
  const end = said === '' ? 'it printed nothing' : `it printed:\n${said}`;
  return new ExamHallError(
    'ProvisionFailedError',
    `the desktop of ${plan.folder.sandboxId} did not start: ${what}; ${end}\nTry: npx examhall setup desktop`,
    { sandboxId: plan.folder.sandboxId },
  );
}

function outputOf(folder: SandboxFolder, stream: 'stdout' | 'stderr'): string {
  return path.join(folder.jobs, DESKTOP_JOB, stream);
}
