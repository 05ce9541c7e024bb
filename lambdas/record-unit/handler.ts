import { FinishPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { recordUnit } from '#usecases/record-unit';

export const handler = defineHandler({ name: 'record-unit', payload: FinishPayload, run: recordUnit });
