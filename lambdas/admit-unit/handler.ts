import { AdmitPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { admitUnit } from '#usecases/admit-unit';

export const handler = defineHandler({ name: 'admit-unit', payload: AdmitPayload, run: admitUnit });
