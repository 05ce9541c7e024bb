import { ExamHallError } from '#core/errors';
import { joinGuestPath, type UnitPaths } from '#core/guest-paths';
import { withoutSecret } from '#core/mask-secrets';
import type { AttemptRow } from '#core/rows';
import type { TaskVariant } from '#core/task-module';
import { CANONICAL_DATA_ROOTS } from '#core/task-paths';
import type { AttemptPayload } from '#contracts/payloads';
import type { RpcCall } from '#contracts/guest';
import type { ModuleReport } from '#ports/module-runner';
import type { Ports } from '#ports/ports';
import type { Sandbox } from '#ports/sandbox-provider';
import { attemptPaths } from './steps/attempt-paths.ts';
import { beginStage, endStage, sandboxOf } from './steps/attempt-stages.ts';
import { readAttemptInputs, type AttemptInputs } from './steps/inputs.ts';
import { servicesOf } from './steps/services.ts';
import { openTaskModule, taskCall, type OpenModule } from './steps/task-modules.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'channels' | 'modules' | 'workspace' | 'clock'>;

const SET_UP_SECONDS = 540;
const LOAD_SECONDS = 60;

/**
 * Words the prompt for this sandbox, runs the task's `start` hook and leaves `prompt.txt` in the agent's folder.
 * @throws TaskSetupError (blame task) with what the hook said.
 */
export async function setUpTask({ attemptId }: AttemptPayload, ports: Needs): Promise<void> {
  const attempt = await beginStage(ports, attemptId, 'setup');
  const inputs = await readAttemptInputs(ports.artifacts, attempt);
  const sandbox = sandboxOf(attempt);
  const place: Place = { attempt, sandbox, inputs, paths: attemptPaths(attempt, sandbox, inputs) };
  const variant = await prepareVariant(ports, place);
  const suffix = inputs.request.promptSuffix;
  const prompt = suffix === '' ? variant.prompt : `${variant.prompt}\n\n${suffix}`;
  await writePrompt(ports, sandbox, place.paths.work, prompt);
  await endStage(ports, attemptId, 'setup', (row) => ({ ...row, prompt }));
}

interface Place {
  readonly attempt: AttemptRow;
  readonly sandbox: Sandbox;
  readonly inputs: AttemptInputs;
  readonly paths: UnitPaths;
}

/** The variant as this sandbox words it, after the task's `start` hook has run. */
async function prepareVariant(ports: Needs, place: Place): Promise<TaskVariant> {
  const { variant: published, task } = place.inputs;
  const isCanonical = place.sandbox.paths.dataRoot === CANONICAL_DATA_ROOTS[place.sandbox.os];
  if (isCanonical && !task.hasStart) return published;
  const module = await openTaskModule(ports, task);
  try {
    const variant = isCanonical ? published : await loadVariant(ports, module, place);
    if (task.hasStart) await start(ports, module, place, variant);
    return variant;
  } finally {
    await module.remove();
  }
}

async function start(ports: Needs, module: OpenModule, place: Place, variant: TaskVariant): Promise<void> {
  const { name, prompt, metadata } = variant;
  const { attempt, sandbox, paths } = place;
  const { secret } = attempt;
  const told = { name, prompt, metadata: metadata ?? {} };
  const input = { variant: told, variantIndex: attempt.variant, paths, ...(secret === null ? {} : { secret }) };
  const channel = ports.channels.for(sandbox);
  const report = await ports.modules.run(
    taskCall(module, 'start', input, SET_UP_SECONDS),
    async (calls, timeoutSeconds) => await channel.call(sandbox, calls, timeoutSeconds),
    servicesOf(ports, attempt, place.inputs.task.services),
  );
  if (report.end !== 'returned' || report.hostFault !== null) throw hookError('start', withoutSecret(report, secret));
}

async function writePrompt(ports: Needs, sandbox: Sandbox, folder: string, content: string): Promise<void> {
  const path = joinGuestPath(sandbox.os, folder, 'prompt.txt');
  const calls: readonly RpcCall[] = [
    { command: 'create_dir', params: { path: folder } },
    { command: 'write_text', params: { path, content } },
  ];
  const results = await ports.channels.for(sandbox).call(sandbox, calls, 60);
  const failed = results.find((result) => !result.success);
  if (failed === undefined) return;
  throw new ExamHallError('ChannelUnavailableError', `the prompt could not be written to ${path}: ${failed.error}`);
}

/** A sandbox with a data root of its own has its own prompt: `load` words it again. */
async function loadVariant(ports: Pick<Ports, 'modules'>, module: OpenModule, place: Place): Promise<TaskVariant> {
  const { os, paths } = place.sandbox;
  const input = { os, dataRoot: paths.dataRoot, taskId: place.inputs.task.taskId };
  return variantFrom(await ports.modules.run(taskCall(module, 'load', input, LOAD_SECONDS)), place.attempt.variant);
}

function variantFrom(report: ModuleReport, index: number): TaskVariant {
  if (report.end !== 'returned') throw hookError('load', report);
  const list: unknown = report.value;
  const variant: unknown = Array.isArray(list) ? list[index] : undefined;
  if (isVariant(variant)) return variant;
  throw new ExamHallError(
    'TaskSetupError',
    `load returned no variant ${String(index)}; it must return {name, prompt} for each`,
  );
}

function isVariant(value: unknown): value is TaskVariant {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'prompt' in value &&
    typeof value.prompt === 'string'
  );
}

/** What the host failed to do for a hook is not the task's fault, whatever the hook made of it. */
function hookError(hook: string, report: ModuleReport): ExamHallError {
  const { end, hostFault, stderr } = report;
  const what = report.errorMessage ?? `exit code ${String(report.exitCode)}`;
  const told = { stderr: stderr.slice(-2000) };
  if (hostFault !== null) {
    const name = hostFault.name === 'ChannelUnavailableError' ? hostFault.name : 'StagingFailedError';
    return new ExamHallError(
      name,
      `the host failed ${hook} of the task: ${hostFault.name}: ${hostFault.message}`,
      told,
    );
  }
  if (end === 'unavailable') return new ExamHallError('StagingFailedError', `${hook} could not be run: ${what}`, told);
  return new ExamHallError('TaskSetupError', `${hook} of the task ended by ${end}: ${what}`, told);
}
