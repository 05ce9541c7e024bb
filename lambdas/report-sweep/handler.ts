import { SweepPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { reportSweep } from '#usecases/report-sweep';

export const handler = defineHandler({ name: 'report-sweep', payload: SweepPayload, run: reportSweep });
