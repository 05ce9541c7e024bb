import { ConfigError, displayPath, problemAt, renderValue, valueAt } from '#core/located';
import { ApiProblemError } from './answer-errors.ts';
import type { ApiClient, CallAnswer } from './api-client.ts';
import { plainText } from './plain-text.ts';
import { RemoteError } from './remote-error.ts';
import type { StartKey } from './start-key.ts';
import { placeOf, type SweepWish } from './sweep-body.ts';

export interface StartJob {
  readonly client: ApiClient;
  readonly wish: SweepWish;
  readonly key: Pick<StartKey, 'key' | 'settle'>;
}

/**
 * Asks a host for a sweep. The key is settled once there is an answer, whatever it is; without one it is kept for the next try.
 * @throws ConfigError for what the host refuses, at the places where it is written; RemoteError
 */
export async function startSweep({ client, wish, key }: StartJob): Promise<CallAnswer<'startSweep'>> {
  try {
    const started = await client.call('startSweep', { body: wish.body, idempotencyKey: key.key });
    await key.settle();
    return started;
  } catch (error) {
    if (error instanceof RemoteError && error.status !== null && error.status < 500 && error.kind !== 'throttled')
      await key.settle();
    throw error instanceof ApiProblemError ? located(error, wish) : error;
  }
}

/** The problems of a refusal at their places in the files; one without any stays what it is. */
function located(error: ApiProblemError, wish: SweepWish): Error {
  if (error.problem.status !== 422 && error.problem.status !== 400) return error;
  const problems = error.problem.problems.map(({ path: told, message }) => {
    const steps = stepsOf(told);
    const text = {
      what: `the host refuses "${plainText(displayPath(steps), 200)}"`,
      got: plainText(renderValue(valueAt(wish.body, steps))),
      allowed: plainText(message),
      action: 'correct it, and run this again',
    };
    return problemAt(placeOf(steps, wish), text, steps);
  });
  return problems.length === 0 ? error : new ConfigError(problems);
}

/** Steps of `tasks[2].path`, `tasks.2.path` and `body.tasks.2.path`. */
function stepsOf(told: string): readonly (string | number)[] {
  const steps = told.split(/[.[\]]+/u).filter((step) => step !== '');
  return (steps[0] === 'body' ? steps.slice(1) : steps).map((step) => (/^\d{1,9}$/u.test(step) ? Number(step) : step));
}
