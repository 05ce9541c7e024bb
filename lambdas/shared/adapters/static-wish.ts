import { ExamHallError } from '#core/errors';
import { hostOfGuest } from '#core/guest-address';
import type { SandboxWish } from '#ports/sandbox-provider';

type Wish = Pick<SandboxWish, 'snapshot' | 'os' | 'network' | 'knobs'>;

/** Every wish that a given machine cannot meet, as far as that is known without asking it. */
function wishesOf(wish: Wish, listed: readonly string[] | undefined): readonly string[] {
  const { os, network } = wish;
  const text = wish.knobs['endpoint'];
  const url = urlOf(wish);
  const shown = `endpoint ${JSON.stringify(text)}`;
  const isListed = url === undefined || listed === undefined || listed.includes(hostOfGuest(endpointOf(wish)) ?? '');
  const names = listed === undefined || listed.length === 0 ? 'none' : listed.join(', ');
  return [
    ...(url === undefined ? [`${shown} (allowed: http://host:port)`] : []),
    ...(isListed
      ? []
      : [
          `${shown} (allowed: http://<address:port> of sandboxes.staticHosts in the settings, which lists ${names}; add the machine there and deploy)`,
        ]),
    ...(os === 'linux' ? [] : [`os ${os} (allowed: linux)`]),
    ...(network === 'open' ? [] : [`network ${network} (allowed: open; the machine's network is as it is)`]),
  ];
}

/** Why the wish cannot be met by any of the machines that are listed; null when it can. */
export function refusalOf(wish: Wish, listed: readonly string[] | undefined): string | null {
  const wishes = wishesOf(wish, listed);
  if (wishes.length === 0) return null;
  return `snapshot ${JSON.stringify(wish.snapshot)}: provider static cannot give ${wishes.join('; ')}. Change the request`;
}

/** @throws SandboxRefusedError naming every wish that cannot be met. */
export function refuseWishes(wish: Wish, listed: readonly string[] | undefined): void {
  const message = refusalOf(wish, listed);
  if (message === null) return;
  const details = { provider: 'static', snapshot: wish.snapshot, wishes: wishesOf(wish, listed) };
  throw new ExamHallError('SandboxRefusedError', message, details);
}

/** The address as locks and records know it. @throws TypeError for a wish without one, which is refused before. */
export function endpointOf(wish: Pick<Wish, 'knobs'>): string {
  const url = urlOf(wish);
  if (url === undefined) throw new TypeError('a wish without an endpoint was not refused');
  return `${url.origin}${url.pathname.replace(/\/$/, '')}`;
}

function urlOf({ knobs }: Pick<Wish, 'knobs'>): URL | undefined {
  const text = knobs['endpoint'];
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}
