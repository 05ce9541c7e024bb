import { ExamHallError } from '#core/errors';
import { joinGuestPath } from '#core/guest-paths';
import type { TaskVariant } from '#core/task-module';
import type { AttemptPayload } from '#contracts/payloads';
import type { RpcCall } from '#contracts/guest';
import type { ModuleReport } from '#ports/module-runner';
import type { Ports } from '#ports/ports';
import { attemptPaths } from './steps/attempt-paths.ts';
import { beginStage, endStage, sandboxOf } from './steps/attempt-stages.ts';
import { readAttemptInputs } from './steps/inputs.ts';
import { openTaskModule, taskCall } from './steps/task-modules.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'channels' | 'modules' | 'workspace' | 'clock'>;

const SET_UP_SECONDS = 540;

/**
 * Words the prompt for this sandbox, runs the task's `start` hook and leaves `prompt.txt` in the agent's folder.
 * @throws TaskSetupError (blame task) with what the hook said.
 */
export async function setUpTask({ attemptId }: AttemptPayload, ports: Needs): Promise<void> {
  const attempt = await beginStage(ports, attemptId, 'setup');
  const inputs = await readAttemptInputs(ports.artifacts, attempt);
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
  const paths = attemptPaths(attempt, sandbox, inputs);
  const module = await openTaskModule(ports, inputs.task);
  let variant: TaskVariant;
  try {
    const loaded = await ports.modules.run(
      taskCall(module, 'load', { os: sandbox.os, dataRoot: sandbox.paths.dataRoot, taskId: inputs.task.taskId }, 60),
    );
    variant = variantFrom(loaded, attempt.variant);
    if (inputs.task.hasStart) {
      const input = { variant, variantIndex: attempt.variant, paths };
      const report = await ports.modules.run(
        taskCall(module, 'start', input, SET_UP_SECONDS),
        async (calls, timeoutSeconds) => await channel.call(sandbox, calls, timeoutSeconds),
      );
      if (report.end !== 'returned') throw hookError('start', report);
    }
  } finally {
    await module.remove();
  }
  const suffix = inputs.request.promptSuffix;
  const prompt = suffix === '' ? variant.prompt : `${variant.prompt}\n\n${suffix}`;
  await writePrompt(joinGuestPath(sandbox.os, paths.work, 'prompt.txt'), prompt);
  await endStage(ports, attemptId, 'setup', (row) => ({ ...row, prompt }));

  async function writePrompt(path: string, content: string): Promise<void> {
    const call: RpcCall = { command: 'write_text', params: { path, content } };
    const [result] = await channel.call(sandbox, [call], 60);
    if (result?.success !== true) {
      throw new ExamHallError(
        'ChannelUnavailableError',
        `the prompt could not be written to ${path}: ${String(result?.error)}`,
      );
    }
  }
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

function hookError(hook: string, report: ModuleReport): ExamHallError {
  const what = report.errorMessage ?? `exit code ${String(report.exitCode)}`;
  return new ExamHallError('TaskSetupError', `${hook} of the task ended by ${report.end}: ${what}`, {
    stderr: report.stderr.slice(-2000),
  });
}
