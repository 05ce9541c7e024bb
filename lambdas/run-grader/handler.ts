import { RunGraderPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { runGrader } from '#usecases/run-grader';

export const handler = defineHandler({ name: 'run-grader', payload: RunGraderPayload, run: runGrader });
