import { CallGuestPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { callGuest } from '#usecases/call-guest';

export const handler = defineHandler({ name: 'call-guest', payload: CallGuestPayload, run: callGuest });
