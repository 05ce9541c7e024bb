import { TokenPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { runAgent } from '#usecases/run-agent';

export const handler = defineHandler({ name: 'run-agent', payload: TokenPayload, run: runAgent });
