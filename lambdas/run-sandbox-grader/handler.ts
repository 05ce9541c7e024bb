import { RunSandboxGraderPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { runSandboxGrader } from '#usecases/run-sandbox-grader';

export const handler = defineHandler({
  name: 'run-sandbox-grader',
  payload: RunSandboxGraderPayload,
  run: runSandboxGrader,
});
