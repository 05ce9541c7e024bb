import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { GuestCallAnswer, RpcCall } from '#contracts/guest';
import type { CallGuestPayload } from '#contracts/payloads';
import { isRepeatable } from '#core/cua/commands';
import { ExamHallError } from '#core/errors';
import type { Clock } from '#ports/clock';
import type { GuestCalls } from '#ports/guest-calls';
import { isAnswerNamed } from './aws-service-fault.ts';

export interface CallGuestOptions {
  /** Must send nothing twice by itself (`maxAttempts: 1`), and wait for an answer as long as the function may take. */
  readonly lambda: LambdaClient;
  /** Name or ARN of the function that passes calls on. */
  readonly functionName: string;
  readonly clock: Clock;
}

const BATCH_LIMIT_BYTES = 5 * 1024 * 1024;
/** The function's own most. */
const MOST_SECONDS = 600;
/** Tries of what may have run and changes nothing. */
const TRIES = 4;
const FIRST_PAUSE_MILLISECONDS = 250;
const LONGEST_PAUSE_MILLISECONDS = 8_000;

/** Answers by which Lambda has not called the function at all: it has no room for one more just now. */
const REFUSALS = [
  'TooManyRequestsException',
  'EC2ThrottledException',
  'ENILimitReachedException',
  'ENINotReadyException',
  'SubnetIPAddressLimitReachedException',
] as const;
/** Answers that no later call changes. */
const OURS = ['AccessDeniedException', 'ResourceNotFoundException', 'RequestTooLargeException'] as const;

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

/**
 * What changes nothing is sent again a few times, and what Lambda has refused, which cannot have run, as long as the caller has
 * time; all else once.
 */
async function pass(options: CallGuestOptions, batch: Batch): Promise<readonly GuestCallAnswer[]> {
  const mayRepeat = batch.calls.every(({ command }) => command.startsWith('GET ') || isRepeatable(command));
  const { clock } = options;
  const endsAt = clock.now().getTime() + Math.min(batch.timeoutSeconds, MOST_SECONDS) * 1000;
  const left = (): number => endsAt - clock.now().getTime();
  let pause = FIRST_PAUSE_MILLISECONDS;
  for (let unheard = 0; ;) {
    try {
      return await invoke(options, { ...batch, timeoutSeconds: Math.max(1, left() / 1000) });
    } catch (error) {
      if (!(error instanceof Error) || isAnswerNamed(error, ...OURS)) throw error;
      const isRefused = isAnswerNamed(error, ...REFUSALS);
      if (!isRefused) unheard += 1;
      const isSentAgain = isRefused || (mayRepeat && unheard < TRIES);
      if (!isSentAgain || pause > left()) return batch.calls.map(() => notAnswered(error, isRefused));
      await clock.sleep(pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MILLISECONDS);
    }
  }
}

/** No word of the guest: the function itself was not reached, or did not come back. */
function notAnswered({ name, message }: Error, isRefused: boolean): GuestCallAnswer {
  const reason = `the function that passes calls on did not answer: ${name}: ${message}`;
  return { kind: 'transport', fault: isRefused ? 'unreachable' : 'cut', reason, isNotPassedOn: true };
}

async function invoke(
  { lambda, functionName }: CallGuestOptions,
  { url, calls, timeoutSeconds }: Batch,
): Promise<readonly GuestCallAnswer[]> {
  const payload: CallGuestPayload = { url, calls: calls.map((call) => ({ ...call })), timeoutSeconds };
  const { FunctionError, Payload } = await lambda.send(
    new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(payload) }),
  );
  const text = Payload === undefined ? '' : new TextDecoder().decode(Payload);
  if (FunctionError !== undefined) throw new Error(`${FunctionError}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as readonly GuestCallAnswer[];
}
