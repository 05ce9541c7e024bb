/** In messages. */
export const SERVICE = 'Step Functions';

/** Of an input or output, in UTF-8. */
export const MAX_PAYLOAD_BYTES = 262_144;

const MAX_ERROR_CHARACTERS = 256;
const MAX_CAUSE_CHARACTERS = 32_768;

/** The service refuses a call whose error is longer, and its token would then never be answered. */
export function cutError(error: string): string {
  return cutAt(error, MAX_ERROR_CHARACTERS);
}

export function cutCause(cause: string): string {
  return cutAt(cause, MAX_CAUSE_CHARACTERS);
}

/** Leaves no half of a surrogate pair at the end. */
function cutAt(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/u, '');
}
