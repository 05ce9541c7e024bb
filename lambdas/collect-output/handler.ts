import { TokenPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { collectOutput } from '#usecases/collect-output';

export const handler = defineHandler({ name: 'collect-output', payload: TokenPayload, run: collectOutput });
