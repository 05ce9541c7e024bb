import type { GuestCallAnswer } from '#contracts/guest';
import type { CallGuestPayload } from '#contracts/payloads';
import { ExamHallError } from '#core/errors';
import { guestAddressProblem } from '#core/guest-address';
import type { Ports } from '#ports/ports';

type Needs = Pick<Ports, 'guestCalls' | 'guestHosts'>;

/**
 * Passes a batch on to the cua-server of one sandbox. It stands inside the network and holds no right, so that all it could be
 * misused for is to talk to another machine's cua port.
 * @throws InvalidRequestError for an address that is neither private nor listed; ChannelUnavailableError when nobody answers there.
 */
export async function callGuest(payload: CallGuestPayload, ports: Needs): Promise<readonly GuestCallAnswer[]> {
  const { url, calls, timeoutSeconds } = payload;
  const problem = guestAddressProblem(url, ports.guestHosts);
  if (problem !== null)
    throw new ExamHallError('InvalidRequestError', `url ${JSON.stringify(url)} ${problem}`, { url });
  return await ports.guestCalls.answer(url, calls, timeoutSeconds);
}
