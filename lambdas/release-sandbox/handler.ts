import { AttemptPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { releaseSandbox } from '#usecases/release-sandbox';

export const handler = defineHandler({ name: 'release-sandbox', payload: AttemptPayload, run: releaseSandbox });
