import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCuaClient, type CuaClient, type CuaEndpoint } from '#adapters/cua-client';
import { isBlackPicture } from '#adapters/png-pixels';
import type { ExecJob, FirstLine } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { DESKTOP_JOB } from './desktop-job.ts';
import { RELAY_JOB } from './desktop-network.ts';
import { loadGuestRunner } from './guest-bundle.ts';
import type { SandboxFolder } from './sandbox-folder.ts';
import { startDetached } from './start-job.ts';

/** A computer on which everything is busy takes long to start four desktops at once. */
const START_LIMIT_SECONDS = 120;
const POLL_MILLISECONDS = 50;

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
    const display = await displayOf(plan.folder, plan.guestRunner);
    const endpoint = plan.endpoint ?? (await endpointOf(plan.folder));
    if (display !== null && endpoint !== null) {
      const answer = await tryServer(endpoint, plan).catch((error: unknown) => {
        if (error instanceof ExamHallError) throw error;
        trouble = error;
      });
      if (answer !== undefined) return { display, endpoint, serverVersion: answer };
    }
    await sleep(POLL_MILLISECONDS);
  }
  throw await failure(plan, `it was not ready within ${START_LIMIT_SECONDS} s: ${String(trouble)}`);
}

/** The display that Xvfb took; null while it has none. */
export async function displayOf(folder: SandboxFolder, guestRunner: string): Promise<string | null> {
  const said = await saidBy(DESKTOP_JOB, folder, guestRunner);
  return /^display (:\d+)$/.exec(said?.line ?? '')?.[1] ?? null;
}

/** Null of a job that is not there. */
async function saidBy(jobId: string, folder: SandboxFolder, guestRunner: string): Promise<FirstLine | null> {
  if (!existsSync(path.join(folder.jobs, jobId))) return null;
  const runner = await loadGuestRunner(guestRunner);
  return await runner.firstLine(folder.jobs, jobId, { timeoutSeconds: 0 });
}

/** Where the server's log says that it listens. */
async function endpointOf(folder: SandboxFolder): Promise<CuaEndpoint | null> {
  const log = await readFile(path.join(folder.jobs, DESKTOP_JOB, 'stderr'), 'utf8').catch(() => '');
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
  if (missing.length > 0) throw await failure(plan, `its server lacks the commands ${missing.join(', ')}`);
  const { png, width, height } = await client.screenshot();
  if (width !== plan.size.width || height !== plan.size.height)
    throw await failure(plan, `its screen is ${width}x${height} instead of ${plan.size.width}x${plan.size.height}`);
  if (await isBlackPicture(png)) throw await failure(plan, 'its screenshot is black');
}

/** @throws ProvisionFailedError when one of the jobs has ended. */
async function refuseEnded(plan: StartPlan): Promise<void> {
  const runner = await loadGuestRunner(plan.guestRunner);
  for (const { jobId } of plan.jobs) {
    const status = await runner.status(plan.folder.jobs, jobId);
    if (status.state !== 'finished') continue;
    const { end, exitCode, signal, message } = status.result;
    const how = signal ?? (exitCode === null ? end : `exit code ${exitCode}`);
    throw await failure(plan, `job ${jobId} ended with ${how}${message === null ? '' : ` (${message})`}`);
  }
}

async function failure({ folder, guestRunner }: StartPlan, what: string): Promise<ExamHallError> {
  const errors = await Promise.all([DESKTOP_JOB, RELAY_JOB].map((jobId) => saidBy(jobId, folder, guestRunner)));
  const said = errors
    .map((each) => each?.stderr.trim() ?? '')
    .filter((text) => text !== '')
    .join('\n');
  const end = said === '' ? 'it printed nothing' : `it printed:\n${said}`;
  return new ExamHallError(
    'ProvisionFailedError',
    `the desktop of ${folder.sandboxId} did not start: ${what}; ${end}\nTry: examhall setup desktop`,
    { sandboxId: folder.sandboxId },
  );
}
