import { GradePayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { stageGrade } from '#usecases/stage-grade';

export const handler = defineHandler({ name: 'stage-grade', payload: GradePayload, run: stageGrade });
