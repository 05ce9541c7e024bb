import { AnyEventSchema } from '#contracts/api-event';
import { defineHandler } from '#runtime/define-handler';
import { acceptCommands } from '#usecases/accept-commands';

export const handler = defineHandler({ name: 'accept-commands', payload: AnyEventSchema, run: acceptCommands });
