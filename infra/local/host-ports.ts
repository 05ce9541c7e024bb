import { createHash } from 'node:crypto';
import { ulid } from 'ulid';
import type { Interpreter } from '#local/asl/interpreter';
import type { Executions, Ids, TaskTokens } from '#ports/hosting';
import type { Digest, Log } from '#ports/ports';

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
    start: (machine, name, input) => {
      const { executionArn } = interpreter().start(machine, { name, input });
      return Promise.resolve({ executionArn });
    },
    stop: (executionArn, error, cause) => {
      interpreter().stop(executionArn, error, cause);
      return Promise.resolve();
    },
  };
}

export const hostIds: Ids = { next: () => ulid().toLowerCase() };

export const hostDigest: Digest = { sha256: (content) => createHash('sha256').update(content).digest('hex') };

/** One JSON line per event. `write` gets whole lines without their line feed. */
export function createJsonLog(write: (line: string) => void, now: () => Date): Log {
  const at =
    (level: string) =>
    (event: string, fields?: Readonly<Record<string, unknown>>): void => {
      write(JSON.stringify({ at: now().toISOString(), level, event, ...fields }));
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}
