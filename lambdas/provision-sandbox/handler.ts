import { AttemptPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { provisionSandbox } from '#usecases/provision-sandbox';

export const handler = defineHandler({ name: 'provision-sandbox', payload: AttemptPayload, run: provisionSandbox });
