import { ExecutionStatusDetail } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { onExecutionFailed } from '#usecases/on-execution-failed';

export const handler = defineHandler({
  name: 'on-execution-failed',
  payload: ExecutionStatusDetail,
  run: onExecutionFailed,
});
