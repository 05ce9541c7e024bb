import type { GuestCallAnswer, RpcCall } from '#contracts/guest';
import type { GuestCalls } from '#ports/guest-calls';
import { CuaCommandError, CuaRequestError, CuaTransportError } from './cua-client-errors.ts';
import { createCuaHttp, type CuaHttp } from './cua-client-http.ts';

/** What is known of the server is asked by these instead of commands. */
const PAGES = ['GET /status', 'GET /commands'];
/** All answers of a batch, as JSON: a function's own answer may have 6 MB. */
const ANSWER_LIMIT_BYTES = 5 * 1024 * 1024;
/** Of one answer as the server sends it; more could not be handed on. */
const REPLY_LIMIT_BYTES = 6 * 1024 * 1024;

/** Passes calls on from a function inside the sandboxes' network. */
export function createGuestCalls(): GuestCalls {
  return {
    answer: async (url, calls, timeoutSeconds) => {
      const http = createCuaHttp({ url }, { replyLimitBytes: REPLY_LIMIT_BYTES });
      const until = performance.now() + timeoutSeconds * 1_000;
      const answers: GuestCallAnswer[] = [];
      let bytes = 0;
      try {
        for (const call of calls) {
          const answer = await answerOf(http, call, (until - performance.now()) / 1_000);
          const size = Buffer.byteLength(JSON.stringify(answer));
          const fits = bytes + size <= ANSWER_LIMIT_BYTES;
          answers.push(fits ? answer : tooLarge(call, size));
          if (fits) bytes += size;
        }
        return answers;
      } finally {
        http.close();
      }
    },
  };
}

async function answerOf(http: CuaHttp, { command, params }: RpcCall, secondsLeft: number): Promise<GuestCallAnswer> {
  if (secondsLeft <= 0)
    return { kind: 'transport', fault: 'unreachable', reason: `the time was over before ${command} could begin` };
  const options = { deadlineSeconds: secondsLeft };
  try {
    if (!PAGES.includes(command)) return { kind: 'result', fields: await http.command(command, params, options) };
    const { statusCode, body } = await http.get(command.slice('GET '.length), options);
    return { kind: 'result', fields: { statusCode, body } };
  } catch (error) {
    if (error instanceof CuaCommandError) return { kind: 'failure', reason: error.reason, fields: error.fields };
    if (error instanceof CuaRequestError)
      return { kind: 'http', statusCode: error.statusCode, detail: error.detail.slice(0, 2_000) };
    if (error instanceof CuaTransportError)
      return { kind: 'transport', fault: error.fault, reason: error.message.slice(0, 2_000) };
    throw error;
  }
}

function tooLarge({ command }: RpcCall, sizeBytes: number): GuestCallAnswer {
  const reason = `the answer to ${command} has ${sizeBytes} bytes and there is room for ${ANSWER_LIMIT_BYTES} in all; read in pieces`;
  return { kind: 'transport', fault: 'too-large', reason };
}
