import type { GuestCallAnswer } from '#contracts/guest';
import { hostOfGuest } from '#core/guest-address';
import type { GuestCalls } from '#ports/guest-calls';

/** Has calls passed on to listed hosts alone; any other does not answer, and says why. */
export function onlyListed(calls: GuestCalls, listed: readonly string[]): GuestCalls {
  return {
    answer: async (url, batch, timeoutSeconds) => {
      if (listed.includes(hostOfGuest(url) ?? '')) return await calls.answer(url, batch, timeoutSeconds);
      const names = listed.length === 0 ? 'none' : listed.join(', ');
      const reason = `${url} is not in sandboxes.staticHosts of the settings (listed: ${names}); list it and deploy`;
      return batch.map((): GuestCallAnswer => ({ kind: 'transport', fault: 'unreachable', reason }));
    },
  };
}
