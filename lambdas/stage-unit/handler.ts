import { TokenPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { stageUnit } from '#usecases/stage-unit';

export const handler = defineHandler({ name: 'stage-unit', payload: TokenPayload, run: stageUnit });
