import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServerRefusal } from './api-server-answer.ts';

/** A bearer token and whom it stands for. */
export interface ServedToken {
  readonly token: string;
  readonly principalArn: string;
}

/**
 * Refuses what comes from a page in a browser: a Host that is not this server's (a name that was rebound to loopback), and
 * requests that a browser says come from elsewhere. @throws ServerRefusal
 */
export function refuseForeign(request: IncomingMessage, port: number): void {
  const hosts = headerValues(request, 'host');
  const own = [`127.0.0.1:${String(port)}`, `localhost:${String(port)}`];
  if (hosts.length !== 1) throw new ServerRefusal('InvalidRequestError', 'a request has one Host header');
  if (!own.includes(hosts[0]?.toLowerCase() ?? '')) {
    const message = `this server answers as ${own.join(' or ')} only; the Host header names another`;
    throw new ServerRefusal('MisdirectedRequestError', message);
  }
  const origins = headerValues(request, 'origin');
  const sites = headerValues(request, 'sec-fetch-site');
  const isForeign =
    origins.some((origin) => !own.includes(origin.toLowerCase().replace(/^http:\/\//u, ''))) ||
    sites.some((site) => site !== 'same-origin' && site !== 'none');
  if (isForeign)
    throw new ServerRefusal('CrossSiteError', 'pages of other origins may not call this server from a browser');
}

/** Whom the request's token stands for; every token is compared, each in constant time. @throws ServerRefusal */
export function principalOf(request: IncomingMessage, tokens: readonly ServedToken[]): string {
  const given = headerValues(request, 'authorization');
  const [, token = ''] = (given.length === 1 ? /^Bearer +([\x21-\x7e]+)$/iu.exec(given[0] ?? '') : null) ?? [];
  const digest = digestOf(token);
  let principalArn = '';
  for (const known of tokens) if (timingSafeEqual(digestOf(known.token), digest)) ({ principalArn } = known);
  if (token !== '' && principalArn !== '') return principalArn;
  const message = 'send the token that the server printed at its start: Authorization: Bearer <token>';
  throw new ServerRefusal('UnauthenticatedError', message, { 'www-authenticate': 'Bearer realm="examhall"' });
}

/** Every value of a header as it came; Node joins or drops those that come twice. */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
