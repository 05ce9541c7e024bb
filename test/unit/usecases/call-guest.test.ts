import { describe, expect, it } from 'vitest';
import type { RpcCall } from '#contracts/guest';
import { CallGuestPayload } from '#contracts/payloads';
import type { GuestCalls } from '#ports/guest-calls';
import { callGuest } from '#usecases/call-guest';

interface Asked {
  readonly url: string;
  readonly calls: readonly RpcCall[];
  readonly timeoutSeconds: number;
}

/** A network that answers every call, and remembers what it was asked. */
function network(): { readonly asked: Asked[]; readonly guestCalls: GuestCalls } {
  const asked: Asked[] = [];
  const answer: GuestCalls['answer'] = (url, calls, timeoutSeconds) => {
    asked.push({ url, calls, timeoutSeconds });
    return Promise.resolve(calls.map(({ command }) => ({ kind: 'result' as const, fields: { command } })));
  };
  return { asked, guestCalls: { answer } };
}

const calls = [
  { command: 'version', params: {} },
  { command: 'screenshot', params: {} },
];

describe('calling a guest', () => {
  it('passes a batch on to a private address, with its time, and gives the answers in order', async () => {
    const { asked, guestCalls } = network();
    const payload = { url: 'http://10.42.3.4:5000', calls, timeoutSeconds: 30 };
    const answers = await callGuest(payload, { guestCalls, guestHosts: [] });
    expect(answers).toEqual([
      { kind: 'result', fields: { command: 'version' } },
      { kind: 'result', fields: { command: 'screenshot' } },
    ]);
    expect(asked).toEqual([payload]);
  });

  it('passes a batch on to a machine that is listed', async () => {
    const { asked, guestCalls } = network();
    const payload = { url: 'http://10.9.8.7:8000', calls, timeoutSeconds: 30 };
    await callGuest(payload, { guestCalls, guestHosts: ['10.9.8.7:8000'] });
    expect(asked).toHaveLength(1);
  });

  it.each(['http://169.254.169.254:5000', 'http://127.0.0.1:9001', 'http://10.9.8.7:8000', 'http://example.com:5000'])(
    'asks nobody at %s, and says what is allowed',
    async (url) => {
      const { asked, guestCalls } = network();
      const refused = callGuest({ url, calls, timeoutSeconds: 30 }, { guestCalls, guestHosts: [] });
      await expect(refused).rejects.toMatchObject({
        name: 'InvalidRequestError',
        message: expect.stringMatching(/^url "http.*" must be /u) as string,
      });
      expect(asked).toEqual([]);
    },
  );

  it.each([
    ['no call', { calls: [] }],
    ['more calls than a batch holds', { calls: Array.from({ length: 1001 }, () => calls[0]) }],
    ['more time than a function has', { timeoutSeconds: 601 }],
    ['an address of another protocol', { url: 'file:///etc/passwd' }],
    ['a word more than the contract has', { headers: {} }],
  ])('is refused with %s', (_, change) => {
    const payload = { url: 'http://10.42.3.4:5000', calls, timeoutSeconds: 30 };
    expect(CallGuestPayload.safeParse(payload).success).toBe(true);
    expect(CallGuestPayload.safeParse({ ...payload, ...change }).success).toBe(false);
  });
});
