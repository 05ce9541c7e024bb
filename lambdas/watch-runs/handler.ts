import { TickPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { watchRuns } from '#usecases/watch-runs';

export const handler = defineHandler({ name: 'watch-runs', payload: TickPayload, run: watchRuns });
