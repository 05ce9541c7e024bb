import { CloseUnitPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { closeUnit } from '#usecases/close-unit';

export const handler = defineHandler({ name: 'close-unit', payload: CloseUnitPayload, run: closeUnit });
