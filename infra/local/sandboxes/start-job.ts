import { spawn, type ChildProcess } from 'node:child_process';
import type { GuestJob } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { storageError } from '#core/storage-error';

/**
 * Starts a job's supervisor in a session of its own, which outlives us, and returns when the job is in place.
 * @throws ChannelUnavailableError, StorageFullError.
 */
export async function startDetached(guestRunner: string, jobsDir: string, job: GuestJob): Promise<void> {
  const child = spawn(process.execPath, [guestRunner, 'start', jobsDir, '--attached'], {
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: process.env['HOME'] ?? '/' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(job));
  const trouble = await firstLine(child);
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
  if (trouble !== null && /\b(?:ENOSPC|EDQUOT)\b/.test(trouble))
    throw storageError(Object.assign(new Error(trouble), { code: 'ENOSPC' }), jobsDir);
  if (trouble === null) return;
  const message = `job ${job.jobId} could not be started: ${trouble}`;
  throw new ExamHallError('ChannelUnavailableError', message, { jobId: job.jobId });
}

/** Null once the supervisor has said its line, else what went wrong. */
function firstLine(child: ChildProcess): Promise<string | null> {
  return new Promise((resolve) => {
    let trouble = '';
    child.once('error', (error) => resolve(error.message));
    child.stderr?.on('data', (text: Buffer) => (trouble += text.toString()));
    child.stdout?.once('data', () => resolve(null));
    child.once('close', (code, signal) =>
      resolve(trouble.trim() || `the supervisor ended with ${signal ?? String(code)}`),
    );
  });
}
