import { ExpirePayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { expireSandbox } from '#usecases/expire-sandbox';

export const handler = defineHandler({ name: 'expire-sandbox', payload: ExpirePayload, run: expireSandbox });
