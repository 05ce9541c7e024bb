import { setTimeout as sleep } from 'node:timers/promises';
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { GuestCallAnswer, RpcCall } from '#contracts/guest';
import type { CallGuestPayload } from '#contracts/payloads';
import { isRepeatable } from '#core/cua/commands';
import { ExamHallError } from '#core/errors';
import type { GuestCalls } from '#ports/guest-calls';
import { isAnswerNamed } from './aws-service-fault.ts';

export interface CallGuestOptions {
  /** Must send nothing twice by itself (`maxAttempts: 1`), and wait for an answer as long as the function may take. */
  readonly lambda: LambdaClient;
  /** Name or ARN of the function that passes calls on. */
  readonly functionName: string;
}

const BATCH_LIMIT_BYTES = 5 * 1024 * 1024;
/** The function's own most. */
const MOST_SECONDS = 600;
const TRIES = 4;
const FIRST_PAUSE_MILLISECONDS = 250;

/** Has calls passed on by the function in the sandboxes' network, in batches that it can take. */
export function createCallGuest(options: CallGuestOptions): GuestCalls {
  return {
    answer: async (url, calls, timeoutSeconds) => {
      const answers: GuestCallAnswer[] = [];
      for (const batch of batchesOf(calls))
        answers.push(...(await pass(options, { url, calls: batch, timeoutSeconds })));
      return answers;
    },
  };
}

/** In order, each small enough by itself. @throws PayloadInvalidError for a call that is too large alone. */
function batchesOf(calls: readonly RpcCall[]): readonly RpcCall[][] {
  const batches: RpcCall[][] = [];
  let room = 0;
  for (const call of calls) {
    const bytes = Buffer.byteLength(JSON.stringify(call)) + 1;
    if (bytes > BATCH_LIMIT_BYTES) {
      const message = `a call of ${call.command} has ${String(bytes)} bytes; allowed: ${String(BATCH_LIMIT_BYTES)}; write in pieces`;
      throw new ExamHallError('PayloadInvalidError', message, { command: call.command, bytes });
    }
    if (bytes > room) {
      batches.push([]);
      room = BATCH_LIMIT_BYTES;
    }
    batches.at(-1)?.push(call);
    room -= bytes;
  }
  return batches;
}

interface Batch {
  readonly url: string;
  readonly calls: readonly RpcCall[];
  readonly timeoutSeconds: number;
}

/** What cannot have run, and what changes nothing, is sent again; all else once. */
async function pass(options: CallGuestOptions, batch: Batch): Promise<readonly GuestCallAnswer[]> {
  const mayRepeat = batch.calls.every(({ command }) => command.startsWith('GET ') || isRepeatable(command));
  for (let tried = 1; ; tried += 1) {
    try {
      return await invoke(options, batch);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const isRefused = isAnswerNamed(
        error,
        'TooManyRequestsException',
        'EC2ThrottledException',
        'ENILimitReachedException',
      );
      const isOurs = isAnswerNamed(
        error,
        'AccessDeniedException',
        'ResourceNotFoundException',
        'RequestTooLargeException',
      );
      if (isOurs) throw error;
      if (tried >= TRIES || !(isRefused || mayRepeat)) return batch.calls.map(() => notAnswered(error, isRefused));
      await sleep(FIRST_PAUSE_MILLISECONDS * 2 ** (tried - 1));
    }
  }
}

function notAnswered({ name, message }: Error, isRefused: boolean): GuestCallAnswer {
  const fault = isRefused ? 'unreachable' : 'cut';
  return { kind: 'transport', fault, reason: `the function that passes calls on did not answer: ${name}: ${message}` };
}

async function invoke(
  { lambda, functionName }: CallGuestOptions,
  { url, calls, timeoutSeconds }: Batch,
): Promise<readonly GuestCallAnswer[]> {
  const limit = Math.min(timeoutSeconds, MOST_SECONDS);
  const payload: CallGuestPayload = { url, calls: calls.map((call) => ({ ...call })), timeoutSeconds: limit };
  const { FunctionError, Payload } = await lambda.send(
    new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(payload) }),
  );
  const text = Payload === undefined ? '' : new TextDecoder().decode(Payload);
  if (FunctionError !== undefined) throw new Error(`${FunctionError}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as readonly GuestCallAnswer[];
}
