import type { GuestCallAnswer } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import { hostOfGuest } from '#core/guest-address';
import type { GuestCalls } from '#ports/guest-calls';

/**
 * Has calls passed on to listed hosts alone; any other does not answer, and says why. What was never passed on says nothing of a
 * machine, and is thrown.
 */
export function onlyListed(calls: GuestCalls, listed: readonly string[]): GuestCalls {
  return {
    answer: async (url, batch, timeoutSeconds) => {
      if (!listed.includes(hostOfGuest(url) ?? '')) {
        const names = listed.length === 0 ? 'none' : listed.join(', ');
        const reason = `${url} is not in sandboxes.staticHosts of the settings (listed: ${names}); list it and deploy`;
        return batch.map((): GuestCallAnswer => ({ kind: 'transport', fault: 'unreachable', reason }));
      }
      const answers = await calls.answer(url, batch, timeoutSeconds);
      for (const answer of answers)
        if (answer.kind === 'transport' && answer.isNotPassedOn === true)
          throw new ExamHallError('ChannelUnavailableError', `${url}: ${answer.reason}`, { url });
      return answers;
    },
  };
}
