import { GUEST_CONTRACT_VERSION, type GuestRequest } from '#contracts/guest';
import { SEAL_INFO, SEAL_MARK, type SealedContent } from '#contracts/guest-seal';
import type { GuestKey } from './guest-key.ts';
import { getText } from './http-client.ts';
import { JobInputError, parseBatch, parseGrant, parseJob } from './job-input.ts';
import { lazy } from './lazy-builtins.ts';

/** A request that is not for this guest, was changed, or comes too late; nothing of it was done. */
export class RequestRefusedError extends Error {
  override readonly name = 'RequestRefusedError';
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const REQUEST_LIMIT_BYTES = 64 * 1024 * 1024;

/** Opens what was sealed for this guest. @throws RequestRefusedError when the seal is not whole or for another. */
export function openSealed(sealed: string, { privateKey, publicKey }: GuestKey): SealedContent {
  if (!sealed.startsWith(SEAL_MARK))
    throw new RequestRefusedError(
      `the request does not begin with ${SEAL_MARK}: it is no sealed one, or of another release`,
    );
  const bytes = Buffer.from(sealed.slice(SEAL_MARK.length), 'base64url');
  if (bytes.length <= KEY_BYTES + NONCE_BYTES + TAG_BYTES)
    throw new RequestRefusedError(`the request has ${bytes.length} bytes, which is too short for a sealed one`);
  const { createDecipheriv, createPublicKey, diffieHellman, hkdfSync } = lazy.crypto();
  const theirs = bytes.subarray(0, KEY_BYTES);
  const nonce = bytes.subarray(KEY_BYTES, KEY_BYTES + NONCE_BYTES);
  try {
    const jwk = { kty: 'OKP', crv: 'X25519', x: theirs.toString('base64url') };
    const secret = diffieHellman({ privateKey, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) });
    const key = hkdfSync('sha256', secret, Buffer.concat([theirs, publicKey]), SEAL_INFO, 32);
    const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key), nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = [decipher.update(bytes.subarray(KEY_BYTES + NONCE_BYTES, -TAG_BYTES)), decipher.final()];
    return JSON.parse(Buffer.concat(text).toString('utf8')) as SealedContent;
  } catch {
    throw new RequestRefusedError('the seal does not open: it was changed, or is for another guest');
  }
}

/** Brings the request that a seal holds or names. @throws RequestRefusedError when it is another one, or its time is over. */
export async function fetchRequest(content: SealedContent, now: Date): Promise<GuestRequest> {
  const request = parseRequest('request' in content ? content.request : await download(content));
  if (!(now.getTime() <= Date.parse(request.validUntil)))
    throw new RequestRefusedError(`the request was valid until ${request.validUntil}, now is ${now.toISOString()}`);
  return request;
}

async function download({ url, sha256 }: Extract<SealedContent, { url: string }>): Promise<string> {
  const text = await getText('the request', url, REQUEST_LIMIT_BYTES);
  const found = lazy.crypto().createHash('sha256').update(text).digest('hex');
  if (found === sha256) return text;
  throw new RequestRefusedError(`the request has sha256 ${found}, sealed was ${sha256}`);
}

/** Reads a request. @throws JobInputError. */
function parseRequest(text: string): GuestRequest {
  const fields = JSON.parse(text) as Partial<GuestRequest>;
  const { requestId, validUntil, reply, verb } = fields;
  if (fields.version !== GUEST_CONTRACT_VERSION)
    throw new JobInputError(`version of the request is ${String(fields.version)}; allowed: ${GUEST_CONTRACT_VERSION}`);
  if (typeof requestId !== 'string' || typeof validUntil !== 'string')
    throw new JobInputError('the request must have requestId and validUntil');
  return { version: GUEST_CONTRACT_VERSION, requestId, validUntil, verb: parseVerb(verb), reply: parseReplyTo(reply) };
}

function parseReplyTo(reply: GuestRequest['reply'] | undefined): GuestRequest['reply'] {
  if (reply === null) return null;
  if (typeof reply?.key !== 'string') throw new JobInputError('reply must be null or a grant with the key to post to');
  return { ...parseGrant(reply), key: reply.key };
}

/** What came, before it is known to be a verb. */
interface Verb {
  readonly kind?: unknown;
  readonly job?: unknown;
  readonly batch?: unknown;
  readonly jobId?: unknown;
  readonly uid?: unknown;
  readonly account?: unknown;
  readonly timeoutSeconds?: unknown;
}

/** What holds a job or a batch is checked as those are; ids are where they are used. */
function parseVerb(value: unknown): GuestRequest['verb'] {
  const verb = (value ?? {}) as Verb;
  switch (verb.kind) {
    case 'start':
      return { kind: 'start', job: parseJob(JSON.stringify(verb.job)) };
    case 'rpc':
      return { kind: 'rpc', batch: parseBatch(JSON.stringify(verb.batch)) };
    case 'status':
    case 'wait':
      return { kind: verb.kind, jobId: String(verb.jobId) };
    case 'stop': {
      const { uid, account = null } = verb;
      if (uid !== null && !(typeof uid === 'number' && Number.isInteger(uid) && uid >= 1))
        throw new JobInputError(`uid is ${JSON.stringify(uid)}; allowed: null or a whole number from 1`);
      if (account !== null && typeof account !== 'string')
        throw new JobInputError(`account is ${JSON.stringify(account)}; allowed: null or a name`);
      return { kind: 'stop', jobId: String(verb.jobId), uid, account };
    }
    case 'first-line': {
      const { timeoutSeconds } = verb;
      if (typeof timeoutSeconds !== 'number' || !(timeoutSeconds >= 0 && timeoutSeconds <= 540))
        throw new JobInputError(`timeoutSeconds is ${JSON.stringify(timeoutSeconds)}; allowed: 0 to 540`);
      return { kind: 'first-line', jobId: String(verb.jobId), timeoutSeconds };
    }
    default:
      throw new JobInputError(
        `verb ${JSON.stringify(verb.kind)} is unknown; allowed: start, status, wait, stop, first-line, rpc`,
      );
  }
}
