/** A module's return value on its way to the host. `too-large` is told apart so that nothing big is sent. */
export interface EncodedValue {
  readonly valueKind: 'json' | 'undefined' | 'nan' | 'infinity' | 'not-json' | 'too-large';
  readonly text: string;
  readonly message: string | null;
}

export interface ThrownValue {
  /** Null for a thrown value that is no error. */
  readonly name: string | null;
  readonly message: string;
  readonly stack: string | null;
}

const MAX_MESSAGE_CHARS = 4096;
const stringify = JSON.stringify;
const byteLength = Buffer.byteLength.bind(Buffer);
const asText = String;
const isFiniteNumber = Number.isFinite.bind(Number);
const isNotANumber = Number.isNaN.bind(Number);

/** Encodes as JSON; inside objects, numbers that JSON lacks become text (`"NaN"`). Never throws. */
export function encodeValue(value: unknown, limitBytes: number): EncodedValue {
  if (value === undefined) return bare('undefined');
  if (typeof value === 'number' && !isFiniteNumber(value)) return bare(isNotANumber(value) ? 'nan' : 'infinity');
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
    return bare('not-json', `a ${typeof value} is no JSON value`);
  }
  try {
    const text = stringify(value, nameUnwritable) as string | undefined;
    if (text === undefined) return bare('undefined');
    const sizeBytes = byteLength(text, 'utf8');
    return sizeBytes > limitBytes
      ? tooLarge(`${sizeBytes} bytes`, limitBytes)
      : { valueKind: 'json', text, message: null };
  } catch (error) {
    const { name, message } = describeThrown(error);
    return message === 'Invalid string length'
      ? tooLarge('more than text can hold', limitBytes)
      : bare('not-json', `${name ?? 'thrown'}: ${message}`);
  }
}

/** Name and message of whatever was thrown. Never throws itself. */
export function describeThrown(error: unknown): ThrownValue {
  try {
    if (error instanceof Error) {
      const { name, message, stack } = error;
      return {
        name: cut(asText(name)),
        message: cut(asText(message)),
        stack: typeof stack === 'string' ? cut(stack) : null,
      };
    }
    return {
      name: null,
      message: cut(asText(typeof error === 'object' ? stringify(error) : error)),
      stack: null,
    };
  } catch {
    return { name: null, message: 'a value that cannot be described', stack: null };
  }
}

function nameUnwritable(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !isFiniteNumber(value) ? asText(value) : value;
}

function bare(valueKind: EncodedValue['valueKind'], message: string | null = null): EncodedValue {
  return { valueKind, text: '', message };
}

function tooLarge(size: string, limitBytes: number): EncodedValue {
  return bare('too-large', `${size}; the limit is ${limitBytes} bytes`);
}

function cut(text: string): string {
  return text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS)}...` : text;
}
