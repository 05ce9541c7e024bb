import { FinishPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { closeAttempt } from '#usecases/close-attempt';

export const handler = defineHandler({ name: 'close-attempt', payload: FinishPayload, run: closeAttempt });
