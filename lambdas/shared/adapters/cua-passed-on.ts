import type { GuestCallAnswer, RpcCall } from '#contracts/guest';
import { isRepeatable } from '#core/cua/commands';
import type { GuestCalls } from '#ports/guest-calls';
import { createCuaClient, type CuaClient, type CuaHttp } from './cua-client.ts';
import { CuaCommandError, CuaRequestError, CuaTransportError, type CuaAddress } from './cua-client-errors.ts';

/**
 * Speaks to a cua-server in a network that is not ours: each request is passed on by a function in that network. Files move in
 * pieces, as they do without it.
 * @throws TypeError when the address is none.
 */
export function createPassedOnClient(calls: GuestCalls, url: string): CuaClient {
  return createCuaClient({ url }, { transport: passedOn(calls, url.replace(/\/$/, '')) });
}

function passedOn(calls: GuestCalls, url: string): CuaHttp {
  const ask = async (at: CuaAddress, call: RpcCall, seconds: number): Promise<Fields> => {
    const [answer] = await calls.answer(url, [call], seconds);
    return fieldsOf(at, answer);
  };
  return {
    get: async (path, { deadlineSeconds }) => {
      const command = `GET ${path}`;
      const fields = await ask({ url, command, isRepeatable: true }, { command, params: {} }, deadlineSeconds);
      return { statusCode: Number(fields['statusCode']), body: String(fields['body']) };
    },
    command: async (command, params, { deadlineSeconds, signal }) => {
      const at = { url, command, isRepeatable: isRepeatable(command) };
      if (signal?.aborted === true) throw new CuaTransportError(at, 'aborted', 'the call was given up', signal.reason);
      return { ...(await ask(at, { command, params }, deadlineSeconds)) };
    },
    close: () => undefined,
  };
}

type Fields = Readonly<Record<string, unknown>>;

const FAULTS = ['unreachable', 'silent', 'cut', 'broken', 'too-large', 'aborted', 'lost'] as const;

function fieldsOf(at: CuaAddress, answer: GuestCallAnswer | undefined): Fields {
  switch (answer?.kind) {
    case 'result':
      return answer.fields;
    case 'failure':
      throw new CuaCommandError(at, answer.reason, answer.fields);
    case 'http':
      throw new CuaRequestError(at, answer.statusCode, answer.detail);
    case 'transport':
      throw new CuaTransportError(at, FAULTS.find((each) => each === answer.fault) ?? 'broken', answer.reason);
    case undefined:
      throw new CuaTransportError(at, 'broken', 'the call was passed on and not answered');
  }
}
