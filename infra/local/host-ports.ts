import { createHash, randomBytes, randomFillSync } from 'node:crypto';
import { ulid } from 'ulid';
import type { Interpreter } from '#local/asl/interpreter';
import { executionArn } from '#local/asl/visit';
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

/** The library's own source asks the system for each of a ULID's characters. */
const pool = new Uint8Array(4096);
let poolUsed = pool.length;

function randomFraction(): number {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  const byte = pool[poolUsed] ?? 0;
  poolUsed += 1;
  return byte / 256;
}

export const hostIds: Ids = {
  next: () => ulid(undefined, randomFraction).toLowerCase(),
  secret: () => randomBytes(32).toString('hex'),
};

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
