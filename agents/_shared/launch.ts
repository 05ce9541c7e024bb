import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { Readable } from 'node:stream';
import type { ShellLine, TranscriptLine } from './transcript.ts';

export interface ShellStep {
  readonly run: string;
  readonly note?: string | undefined;
}

/** Characters of each stream of one command kept in the transcript. */
const MAX_KEPT_CHARS = 64 * 1024;

/** Adds a line to `transcript.jsonl` of the working folder. */
export function addLine(line: TranscriptLine): void {
  appendFileSync('transcript.jsonl', `${JSON.stringify(line)}\n`);
}

/** Runs a shell line in the task's folder and adds it to the transcript. @throws Error when it does not end with 0. */
export async function runShell(id: string, step: ShellStep): Promise<void> {
  const line = await runStep(id, step);
  addLine(line);
  if (line.exitCode !== 0) throw new Error(`it ended with ${line.exitCode ?? 'no exit code'}: ${step.run}`);
}

/** Plays steps one after another. Stops at the first that fails and says why. Returns true when all went well. */
export async function playAll<Step>(
  steps: readonly Step[],
  play: (step: Step, number: number) => Promise<void>,
): Promise<boolean> {
  for (const [index, step] of steps.entries()) {
    try {
      await play(step, index + 1);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      process.stderr.write(`step ${index + 1} of ${steps.length} failed: ${why}\n`);
      return false;
    }
  }
  return true;
}

/** A variable of the launch contract. Ends the launch when it is not set. */
export function requireVariable(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== '') return value;
  process.stderr.write(`${name} is not set; an agent is launched as agents/README.md says\n`);
  process.exit(1);
}

function runStep(id: string, step: ShellStep): Promise<ShellLine> {
  const startedAt = new Date().toISOString();
  const start = performance.now();
  const child = spawn(step.run, {
    shell: true,
    cwd: requireVariable('TASK_ROOT'),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { NODE: process.execPath, ...process.env },
  });
  const stdout = keep(child.stdout);
  const stderr = keep(child.stderr);
  return new Promise((resolve) => {
    const finish = (exitCode: number | null, failure: string): void =>
      resolve({
        id,
        startedAt,
        command: step.run,
        note: step.note ?? null,
        exitCode,
        stdout: stdout(),
        stderr: `${stderr()}${failure}`,
        durationMs: Math.round(performance.now() - start),
      });
    child.once('error', (error) => finish(null, `cannot start: ${error.message}`));
    child.once('close', (exitCode) => finish(exitCode, ''));
  });
}

function keep(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    process.stdout.write(chunk);
    if (text.length < MAX_KEPT_CHARS) text = (text + chunk).slice(0, MAX_KEPT_CHARS);
  });
  return () => text;
}
