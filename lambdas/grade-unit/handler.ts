import { TokenPayload } from '#contracts/payloads';
import { defineHandler } from '#runtime/define-handler';
import { gradeUnit } from '#usecases/grade-unit';

export const handler = defineHandler({ name: 'grade-unit', payload: TokenPayload, run: gradeUnit });
