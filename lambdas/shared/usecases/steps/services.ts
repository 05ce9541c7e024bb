import type { PublishedFile } from '#core/catalog';
import { ExamHallError } from '#core/errors';
import { joinGuestPath } from '#core/guest-paths';
import { serviceJobId } from '#core/ids';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { StartedService } from '#core/task-module';
import type { FetchItem, FirstLine, JobStatus } from '#contracts/guest';
import type { ServiceStart } from '#ports/module-runner';
import type { Ports } from '#ports/ports';
import { sandboxOf } from './attempt-stages.ts';

type Needs = Pick<Ports, 'artifacts' | 'channels' | 'clock'>;

const URL_SECONDS = 900;
/** For each of the transfer and the first line. */
const WAIT_SECONDS = 60;
const END_POLLS = 100;
const END_POLL_MILLISECONDS = 50;
const OUTPUT_LIMIT_MIB = 4;

/**
 * Starts services of a task: brings the code to where only the runner looks, and runs it as the runner until the sandbox
 * is released. Starting one again with the same attempt finds the running one.
 */
export function servicesOf(
  ports: Needs,
  attempt: AttemptRow,
  services: Readonly<Record<string, PublishedFile>>,
): ServiceStart {
  return async (name, input) => {
    const code = Object.hasOwn(services, name) ? services[name] : undefined;
    if (code === undefined) {
      const known = Object.keys(services).join(', ') || 'none';
      throw failure(`the task has no service ${JSON.stringify(name)} in its folder services/; it has ${known}`);
    }
    const file = await bringCode(ports, attempt, { name, code });
    return await runService(ports, attempt, { name, file, input });
  };
}

/** Path of the service's code in the folder of the job that brought it, which is the runner's alone. */
async function bringCode(
  ports: Needs,
  attempt: AttemptRow,
  { name, code }: { readonly name: string; readonly code: PublishedFile },
): Promise<string> {
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
  const jobId = serviceJobId(attempt.attemptId, 'service-code', name);
  const path = joinGuestPath(sandbox.os, channel.jobFolder(sandbox, jobId), 'code', `${name}.mjs`);
  const item: FetchItem = {
    url: await ports.artifacts.signGet({ bucket: 'tasks', key: code.key }, URL_SECONDS),
    path,
    sha256: code.sha256,
    sizeBytes: code.sizeBytes,
    executable: false,
  };
  const list = { bucket: 'artifacts', key: objectKeys.serviceList(attempt.attemptId, name) } as const;
  await ports.artifacts.put(list, JSON.stringify({ items: [item], directories: [] }));
  const listUrl = await ports.artifacts.signGet(list, URL_SECONDS);
  await channel.start(sandbox, { kind: 'fetch', jobId, wallSeconds: WAIT_SECONDS, as: 'runner', listUrl });
  const status = await endOf(ports, attempt, jobId);
  if (status.state === 'finished') await ports.artifacts.remove(list);
  if (status.state === 'finished' && status.result.end === 'exited' && status.result.exitCode === 0) return path;
  const why = status.state === 'finished' ? (status.result.message ?? status.result.end) : `it is ${status.state}`;
  throw new ExamHallError('StagingFailedError', `the code of service ${name} was not brought into the sandbox: ${why}`);
}

/** How a transfer ended, or that it has not in time: its first words come just before its end. */
async function endOf(ports: Needs, attempt: AttemptRow, jobId: string): Promise<JobStatus> {
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
  let { status } = await channel.firstLine(sandbox, jobId, WAIT_SECONDS + 10);
  for (let polls = 0; status.state === 'running' && polls < END_POLLS; polls += 1) {
    await ports.clock.sleep(END_POLL_MILLISECONDS);
    status = await channel.status(sandbox, jobId);
  }
  return status;
}

async function runService(
  ports: Needs,
  attempt: AttemptRow,
  service: { readonly name: string; readonly file: string; readonly input: Readonly<Record<string, unknown>> },
): Promise<StartedService> {
  const { name, file, input } = service;
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
  const jobId = serviceJobId(attempt.attemptId, 'service', name);
  const lifeSeconds = Math.ceil((Date.parse(attempt.expiresAt) - ports.clock.now().getTime()) / 1000);
  await channel.start(sandbox, {
    kind: 'exec',
    jobId,
    wallSeconds: Math.max(1, lifeSeconds),
    as: 'runner',
    network: 'sandbox',
    argv: [sandbox.paths.runnerNode, file],
    cwd: parentOf(file),
    env: {},
    stdin: JSON.stringify(input),
    outputLimitMiB: OUTPUT_LIMIT_MIB,
  });
  return portFrom(name, await channel.firstLine(sandbox, jobId, WAIT_SECONDS));
}

function parentOf(file: string): string {
  return file.replace(/[/\\][^/\\]*$/u, '');
}

function portFrom(name: string, said: FirstLine): StartedService {
  const { line, stderr, status } = said;
  const told = stderr.trim() === '' ? '' : `; its errors end with: ${stderr.trim()}`;
  if (status.state !== 'running') {
    const end = status.state === 'finished' ? endText(status.result) : 'nobody knows how';
    throw failure(`service ${name} is over: ${end}${told}`);
  }
  if (line === null) {
    throw failure(`service ${name} printed no {"port": n} within ${String(WAIT_SECONDS)} seconds${told}`);
  }
  const port = portIn(line);
  if (port !== null) return { port };
  throw failure(
    `service ${name} printed ${JSON.stringify(line.slice(0, 200))}; it must print {"port": n} first${told}`,
  );
}

function endText(result: { readonly end: string; readonly exitCode: number | null; readonly message: string | null }) {
  const { end, exitCode, message } = result;
  return message ?? (exitCode === null ? end : `it exited with ${String(exitCode)}`);
}

function portIn(line: string): number | null {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('port' in value)) return null;
    const { port } = value;
    return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536 ? Number(port) : null;
  } catch {
    return null;
  }
}

function failure(message: string): ExamHallError {
  return new ExamHallError('TaskSetupError', message);
}
