import { TickPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { reapSandboxes } from '#usecases/reap-sandboxes';

export const handler = defineHandler({ name: 'reap-sandboxes', payload: TickPayload, run: reapSandboxes });
