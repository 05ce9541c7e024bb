import {
  SendTaskFailureCommand,
  SendTaskHeartbeatCommand,
  SendTaskSuccessCommand,
  type SFNClient,
} from '@aws-sdk/client-sfn';
import { ExamHallError } from '#core/errors';
import type { TaskTokens } from '#ports/hosting';
import { callService, isAnswerNamed } from './aws-service-fault.ts';
import { cutCause, cutError, MAX_PAYLOAD_BYTES, SERVICE } from './sfn-limits.ts';

/** Resumes callbacks over the Step Functions API. */
export function createSfnTokens({ client }: { readonly client: SFNClient }): TaskTokens {
  return {
    succeed: async (taskToken, output) => {
      const json = JSON.stringify(output ?? null);
      checkSize(json);
      return await answered(() => client.send(new SendTaskSuccessCommand({ taskToken, output: json })));
    },
    fail: async (taskToken, error, cause) => {
      const input = { taskToken, error: cutError(error), cause: cutCause(cause) };
      return await answered(() => client.send(new SendTaskFailureCommand(input)));
    },
    heartbeat: async (taskToken) => await answered(() => client.send(new SendTaskHeartbeatCommand({ taskToken }))),
  };
}

/** False for a token that has been used, timed out, or never was; also when a lost answer's repeat finds it used. */
async function answered(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await callService(SERVICE, call);
    return true;
  } catch (error) {
    if (isAnswerNamed(error, 'TaskTimedOut', 'TaskDoesNotExist', 'InvalidToken')) return false;
    throw error;
  }
}

function checkSize(json: string): void {
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_PAYLOAD_BYTES) return;
  const message = `the output of a callback has ${String(bytes)} bytes; allowed: ${String(MAX_PAYLOAD_BYTES)}; put large content into the store and name its key`;
  throw new ExamHallError('PayloadInvalidError', message, { bytes });
}
