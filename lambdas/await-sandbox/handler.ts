import { TokenPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { awaitSandbox } from '#usecases/await-sandbox';

export const handler = defineHandler({ name: 'await-sandbox', payload: TokenPayload, run: awaitSandbox });
