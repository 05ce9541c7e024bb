import { randomUUID } from 'node:crypto';
import type * as z from 'zod';
import { GUEST_CONTRACT_VERSION, type GuestReply, type GuestRequest } from '#contracts/guest';
import type { SealedContent } from '#contracts/guest-seal';
import { isErrorNamed } from '#core/errors';
import { REQUEST_MAX_LETTERS } from '#core/guest-documents';
import { objectKeys } from '#core/keys';
import type { ArtifactStore } from '#ports/artifact-store';
import type { Clock } from '#ports/clock';
import type { Sandbox } from '#ports/sandbox-provider';
import { isAnswerNamed } from './aws-service-fault.ts';
import { GuestReplySchema, parseGuestJson, parseGuestValue } from './guest-answers.ts';
import { unavailable, whyNotDone, type SsmCommands } from './ssm-commands.ts';
import { sealFor, sha256Of } from './ssm-seal.ts';

type Verb = GuestRequest['verb'];

export interface GuestRequestsOptions {
  readonly artifacts: ArtifactStore;
  readonly commands: SsmCommands;
  readonly clock: Pick<Clock, 'now'>;
}

/** How long a guest may take to begin a request; later it refuses it. */
const VALID_SECONDS = 600;
/** A reply is put once its verb is done, which takes ten minutes at most besides. */
const REPLY_SECONDS = 2 * VALID_SECONDS;
/** Files and pictures come by `rpc` alone; whoever looks at many machines at once asks for the others. */
const RPC_REPLY_BYTES = 64 * 1024 * 1024;
const REPLY_BYTES = 256 * 1024;
/** Of a missing object S3 says so only to who may list all of its bucket; others are told that they may not read it. */
const HIDDEN_NAMES = ['AccessDenied', 'Forbidden'];
/** From a verb's own time to the end of its command: whoever asks has time for both, for each of its questions. */
export const MARGIN_SECONDS = 75;

/** Hands verbs to the guest runner: what they say lies in objects of the attempt, and only where is sealed into a command. */
export class GuestRequests {
  readonly #options: GuestRequestsOptions;

  constructor(options: GuestRequestsOptions) {
    this.#options = options;
  }

  /**
   * Has a verb done and gives its answer. An answer that is there counts however the command ended: a job that has begun may
   * have ended the runner and its machine since.
   * @throws ChannelUnavailableError, also for an answer that is not as `schema` wants it.
   */
  async ask<T>(sandbox: Sandbox, verb: Verb, schema: z.ZodType<T>, seconds = 0): Promise<T> {
    const { commands } = this.#options;
    const requestId = randomUUID();
    try {
      const commandId = await this.#send(sandbox, requestId, verb);
      const ended = await commands.ended(sandbox, commandId, seconds + MARGIN_SECONDS);
      const reply = await this.#reply(sandbox, requestId, verb);
      if (reply !== undefined) return valueOf(sandbox, verb, schema, reply);
      if (ended === undefined) throw unavailable(sandbox.sandboxId, `no end of ${verb.kind} in ${commandId} in time`);
      if (!ended.isDone) throw unavailable(sandbox.sandboxId, `${verb.kind}: ${whyNotDone('run', ended)}`);
      throw unavailable(sandbox.sandboxId, 'its command ended well and left no reply');
    } finally {
      await this.#forget(sandbox, requestId);
    }
  }

  /** Has a job waited for; the command ends with it. @returns the command's id. */
  async wait(sandbox: Sandbox, jobId: string): Promise<string> {
    const request = this.#request(randomUUID(), { kind: 'wait', jobId }, null);
    // It says little and nobody comes to take it away again, so the command holds it itself.
    const sealed = sealedFor(sandbox, { request: JSON.stringify(request) });
    return await this.#options.commands.send('wait', sandbox.sandboxId, sealed);
  }

  async #send(sandbox: Sandbox, requestId: string, verb: Verb): Promise<string> {
    const { artifacts, commands } = this.#options;
    const { sandboxId, attemptId } = sandbox;
    const text = JSON.stringify(this.#request(requestId, verb, await this.#replyGrant(attemptId, requestId, verb)));
    const ref = { bucket: 'artifacts', key: objectKeys.guestRequest(attemptId, requestId) } as const;
    await artifacts.put(ref, text, { contentType: 'application/json' });
    const url = await artifacts.signGet(ref, VALID_SECONDS);
    const sealed = sealedFor(sandbox, { url, sha256: sha256Of(text) });
    return await commands.send('run', sandboxId, sealed);
  }

  #request(requestId: string, verb: Verb, reply: GuestRequest['reply']): GuestRequest {
    const validUntil = new Date(this.#options.clock.now().getTime() + VALID_SECONDS * 1000).toISOString();
    return { version: GUEST_CONTRACT_VERSION, requestId, validUntil, verb, reply };
  }

  async #replyGrant(attemptId: string, requestId: string, verb: Verb): Promise<NonNullable<GuestRequest['reply']>> {
    const key = objectKeys.guestReply(attemptId, requestId);
    const grant = await this.#options.artifacts.signUpload('artifacts', key, REPLY_SECONDS, replyLimitBytes(verb));
    return { ...grant, key };
  }

  async #reply(sandbox: Sandbox, requestId: string, verb: Verb): Promise<GuestReply | undefined> {
    const { sandboxId } = sandbox;
    const bytes = await this.#replyBytes(sandbox, requestId, replyLimitBytes(verb));
    if (bytes === undefined) return undefined;
    const reply = parseGuestJson(GuestReplySchema, new TextDecoder().decode(bytes));
    if ('why' in reply) throw unavailable(sandboxId, `the reply to ${verb.kind} is none: ${reply.why}`);
    if (reply.answer.requestId === requestId) return reply.answer;
    throw unavailable(sandboxId, 'the reply is one to another request');
  }

  /** The form keeps to the limit too; this reads one byte more at most, whatever lies there. */
  async #replyBytes(sandbox: Sandbox, requestId: string, limitBytes: number): Promise<Uint8Array | undefined> {
    const { sandboxId, attemptId } = sandbox;
    const ref = { bucket: 'artifacts', key: objectKeys.guestReply(attemptId, requestId) } as const;
    const range = { start: 0, end: limitBytes };
    const bytes = await this.#options.artifacts.get(ref, range).catch((error: unknown) => {
      if (isErrorNamed(error, 'InvalidRequestError')) throw unavailable(sandboxId, 'the reply is empty', error);
      if (!isErrorNamed(error, 'ObjectNotFoundError') && !isAnswerNamed(error, ...HIDDEN_NAMES)) throw error;
      return undefined;
    });
    if (bytes === undefined || bytes.byteLength <= limitBytes) return bytes;
    throw unavailable(sandboxId, `the reply has more than the ${String(limitBytes)} bytes that are allowed`);
  }

  /** Neither what was asked nor what was answered stays; what is left of a cut-off call goes with the attempt's objects. */
  async #forget({ attemptId }: Sandbox, requestId: string): Promise<void> {
    const keys = [objectKeys.guestRequest(attemptId, requestId), objectKeys.guestReply(attemptId, requestId)];
    await Promise.allSettled(keys.map((key) => this.#options.artifacts.remove({ bucket: 'artifacts', key })));
  }
}

/** @throws ChannelUnavailableError for a guest that nothing can be sealed for. */
function keyOf({ sandboxId, sealingKey }: Sandbox): string {
  if (sealingKey !== undefined) return sealingKey;
  throw unavailable(sandboxId, 'its runner has not told its key yet');
}

/** @throws ChannelUnavailableError also for a key that is none: it is the guest that has told it. */
function sealedFor(sandbox: Sandbox, content: SealedContent): string {
  const sealed = sealedWith(sandbox, keyOf(sandbox), content);
  if (sealed.length <= REQUEST_MAX_LETTERS) return sealed;
  const sizes = `${String(sealed.length)} letters, and ${String(REQUEST_MAX_LETTERS)} are allowed`;
  throw unavailable(sandbox.sandboxId, `the sealed request has ${sizes}`);
}

function sealedWith({ sandboxId }: Sandbox, key: string, content: SealedContent): string {
  try {
    return sealFor(key, content);
  } catch (error) {
    throw unavailable(sandboxId, 'nothing can be sealed with the key that its runner has told', error);
  }
}

const replyLimitBytes = ({ kind }: Verb): number => (kind === 'rpc' ? RPC_REPLY_BYTES : REPLY_BYTES);

function valueOf<T>({ sandboxId }: Sandbox, { kind }: Verb, schema: z.ZodType<T>, reply: GuestReply): T {
  if (!reply.ok) throw unavailable(sandboxId, `its runner could not do ${kind}: ${reply.error}: ${reply.message}`);
  const value = parseGuestValue(schema, reply.value);
  if ('answer' in value) return value.answer;
  throw unavailable(sandboxId, `what it answers to ${kind} is not as agreed: ${value.why}`);
}
