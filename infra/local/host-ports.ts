import type { Interpreter } from '#local/asl/interpreter';
import { executionArn } from '#local/asl/visit';
import type { Executions, TaskTokens } from '#ports/hosting';

/** What the service answers for a token that has been used, timed out, or never was. */
const GONE = new Set(['TaskTimedOut', 'TaskDoesNotExist', 'InvalidToken']);

export function createTokens(interpreter: () => Interpreter): TaskTokens {
  const send = (work: () => void): Promise<boolean> => {
    try {
      work();
      return Promise.resolve(true);
    } catch (error) {
      if (error instanceof Error && GONE.has(error.name)) return Promise.resolve(false);
      throw error;
    }
  };
  return {
    succeed: async (token, output) =>
      await send(() => {
        interpreter().sendTaskSuccess(token, JSON.stringify(output));
      }),
    fail: async (token, error, cause) =>
      await send(() => {
        interpreter().sendTaskFailure(token, error, cause);
      }),
    heartbeat: async (token) =>
      await send(() => {
        interpreter().sendTaskHeartbeat(token);
      }),
  };
}

export function createExecutions(interpreter: () => Interpreter): Executions {
  return {
    start: async (machine, name, input) => {
      try {
        return { executionArn: interpreter().start(machine, { name, input }).executionArn };
      } catch (error) {
        const arn = executionArn(machine, name);
        if (!isEndedAlready(error, { arn, input }, interpreter())) throw error;
        return { executionArn: arn };
      }
    },
    stop: (executionArn, error, cause) => {
      interpreter().stop(executionArn, error, cause);
      return Promise.resolve();
    },
  };
}

/** The service refuses a name whose execution has ended; with the same input it is the one that was asked for. */
function isEndedAlready(
  error: unknown,
  asked: { readonly arn: string; readonly input: unknown },
  interpreter: Interpreter,
): boolean {
  if (!(error instanceof Error && error.name === 'ExecutionAlreadyExists')) return false;
  const { status, input } = interpreter.describe(asked.arn);
  return status !== 'RUNNING' && input === JSON.stringify(asked.input);
}
