import { RunFinishedDetail } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { onRunFinished } from '#usecases/on-run-finished';

export const handler = defineHandler({ name: 'on-run-finished', payload: RunFinishedDetail, run: onRunFinished });
