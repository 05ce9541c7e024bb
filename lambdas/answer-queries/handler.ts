import { AnyEventSchema } from '#contracts/api-event';
import { defineHandler } from '#runtime/define-handler';
import { answerQueries } from '#usecases/answer-queries';

export const handler = defineHandler({ name: 'answer-queries', payload: AnyEventSchema, run: answerQueries });
