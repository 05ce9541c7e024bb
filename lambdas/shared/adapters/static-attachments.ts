import { createHash } from 'node:crypto';
import type { Sandbox } from '#ports/sandbox-provider';

/** What is known of one attachment to a machine that was given; a new process finds by it what an earlier one left. */
export interface StaticAttachment {
  readonly state: 'pending' | 'ready' | 'stopped' | 'detached';
  readonly sandboxId: string;
  readonly attemptId: string;
  readonly endpoint: string;
  readonly expiresAt: string;
  readonly knobs: Readonly<Record<string, unknown>>;
  /** Our folder on the machine; null until it has been made. */
  readonly folder: string | null;
  readonly sandbox: Sandbox | null;
}

/** Who has a machine. */
export interface StaticHolder {
  readonly attemptId: string;
  /** Where that is written down. */
  readonly where: string;
  /** How the machine becomes free. */
  readonly remedy: string;
}

export type HoldAnswer =
  | { readonly kind: 'held'; readonly attachment: StaticAttachment }
  | { readonly kind: 'taken'; readonly holder: StaticHolder };

/** Attachments of one host, and which of them has each machine. One attachment has a machine at a time. */
export interface StaticAttachments {
  read(sandboxId: string): Promise<StaticAttachment | undefined>;
  /** Takes the machine for an attachment and notes it. One that is noted already stays as it is, and is what comes back. */
  hold(attachment: StaticAttachment): Promise<HoldAnswer>;
  /**
   * Writes down what an attachment has come to. A sandbox that is known stays known.
   * @returns false, with nothing written, when it has been removed meanwhile.
   */
  update(attachment: StaticAttachment): Promise<boolean>;
  /** Gives the machine up, if it is this attachment's; `left` is what stays noted, null for nothing. */
  free(attachment: Pick<StaticAttachment, 'sandboxId' | 'endpoint'>, left: StaticAttachment | null): Promise<void>;
  /** By sandbox id, those behind `after`; `next` leads on to more. */
  list(after?: string): Promise<{ readonly attachments: readonly StaticAttachment[]; readonly next?: string }>;
}

/** Made of the client token alone: one token, one attachment. */
export function attachmentIdOf(clientToken: string): string {
  return `sbx-${createHash('sha256').update(clientToken).digest('hex').slice(0, 20)}`;
}

export const ATTACHMENT_ID = /^sbx-[0-9a-f]{20}$/u;
/** Attachments that are listed at a time. */
export const ATTACHMENTS_AT_A_TIME = 100;
