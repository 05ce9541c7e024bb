import { AslError, DATA_LIMIT_EXCEEDED } from './errors.ts';

/** Quotas of Standard workflows, from the service's quota page. */
export const MAX_PAYLOAD_BYTES = 262_144;
export const MAX_HISTORY_EVENTS = 25_000;
export const MAX_DEFINITION_BYTES = 1_048_576;
export const MAX_ASSIGN_BYTES = 262_144;
export const MAX_VARIABLES_BYTES = 10 * 1_048_576;
export const MAX_NAME_LENGTH = 80;
export const MAX_INLINE_CONCURRENCY = 40;
export const MAX_DISTRIBUTED_CONCURRENCY = 10_000;
export const MAX_ERROR_LENGTH = 256;
export const MAX_CAUSE_LENGTH = 32_768;
export const MAX_SECONDS = 99_999_999;

/** UTF-8 takes at most three bytes for each UTF-16 unit, so short texts need no counting. */
const SURELY_SMALL = Math.floor(MAX_PAYLOAD_BYTES / 3);

export function isTooLarge(text: string): boolean {
  if (text.length <= SURELY_SMALL) return false;
  return text.length > MAX_PAYLOAD_BYTES || Buffer.byteLength(text) > MAX_PAYLOAD_BYTES;
}

/** @throws AslError States.DataLimitExceeded when the text of a state's or task's data is over 256 KiB. */
export function assertPayloadFits(text: string, who: string): void {
  if (isTooLarge(text)) {
    throw new AslError(
      DATA_LIMIT_EXCEEDED,
      `The state/task '${who}' returned a result with a size exceeding the maximum number of bytes service limit.`,
    );
  }
}
