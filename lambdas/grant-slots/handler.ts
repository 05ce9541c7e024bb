import { TickPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { grantSlots } from '#usecases/grant-slots';

export const handler = defineHandler({ name: 'grant-slots', payload: TickPayload, run: grantSlots });
