import { AttemptPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { setUpTask } from '#usecases/set-up-task';

export const handler = defineHandler({ name: 'set-up-task', payload: AttemptPayload, run: setUpTask });
