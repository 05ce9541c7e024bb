import { SweepPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { planSweep } from '#usecases/plan-sweep';

export const handler = defineHandler({ name: 'plan-sweep', payload: SweepPayload, run: planSweep });
