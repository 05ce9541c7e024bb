import { CommitGradePayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { commitGrade } from '#usecases/commit-grade';

export const handler = defineHandler({ name: 'commit-grade', payload: CommitGradePayload, run: commitGrade });
