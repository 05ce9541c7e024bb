import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * Starts a supervisor of its own session, which outlives this process, with the job as its input.
 * @returns the line it says once the job is in place. @throws Error with what it said instead.
 */
export async function startDetached(jobsDir: string, job: string): Promise<string> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'start', jobsDir, '--attached'], {
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: process.env['HOME'] ?? '/' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(job);
  let line = '';
  let trouble = '';
  child.stderr.on('data', (text: Buffer) => (trouble += text.toString()));
  for await (const chunk of child.stdout) {
    line += String(chunk);
    if (line.includes('\n')) break;
  }
  child.stderr.destroy();
  child.unref();
  if (line.includes('\n')) return line;
  throw new Error(trouble.trim() || 'the supervisor ended without a word');
}
