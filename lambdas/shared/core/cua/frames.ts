/** What came back for one command. `broken` is an answer that is none: empty, cut off, or not a frame. */
export type CuaReply =
  | { readonly kind: 'result'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'failure'; readonly message: string; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'http'; readonly statusCode: number; readonly detail: string }
  | { readonly kind: 'broken'; readonly reason: string };

const SHOWN_CHARACTERS = 500;

/** Text for an error message: cut to a readable length. */
export function shorten(text: string, limit = SHOWN_CHARACTERS): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}... (${text.length} characters)`;
}

/** The object a JSON text stands for, or undefined when it is no JSON or no object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads the answer to `POST /cmd`. A command's failure is told by `success`, never by `error`, which may be missing;
 * of several frames the last one counts. Never throws.
 */
export function parseReply(statusCode: number, body: string): CuaReply {
  if (statusCode !== 200) return { kind: 'http', statusCode, detail: detailOf(body) };
  const text = body.startsWith('\ufeff') ? body.slice(1) : body;
  if (text.trim() === '') return { kind: 'broken', reason: 'the answer is empty' };
  const data = lastFrame(text);
  if (data === undefined) return { kind: 'broken', reason: `the answer has no "data:" line: ${shorten(text, 200)}` };
  const fields = parseObject(data);
  if (fields === undefined) {
    return { kind: 'broken', reason: `the frame is not a JSON object, perhaps cut off: ${shorten(data, 200)}` };
  }
  const hasFailed = 'success' in fields && fields['success'] !== true;
  return hasFailed ? { kind: 'failure', message: failureMessage(fields), fields } : { kind: 'result', fields };
}

/** The data of the last frame; lines of one frame belong together. */
function lastFrame(text: string): string | undefined {
  let last: string | undefined;
  for (const frame of text.split(/\r?\n\r?\n/)) {
    const lines = frame.split(/\r?\n/).filter((line) => line.startsWith('data:'));
    if (lines.length > 0) last = lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n');
  }
  return last;
}

function detailOf(body: string): string {
  const fields = parseObject(body);
  const detail = fields?.['detail'] ?? fields?.['error'];
  if (detail === undefined || detail === null) return shorten(body.trim());
  return shorten(typeof detail === 'string' ? detail : JSON.stringify(detail));
}

/** A failed command may say why in `error`, `message` or `stderr`, or nowhere. */
function failureMessage(fields: Readonly<Record<string, unknown>>): string {
  for (const key of ['error', 'message', 'stderr']) {
    const value = fields[key];
    if (typeof value === 'string' && value.trim() !== '') return shorten(value.trim());
  }
  return 'the server gave no reason';
}
