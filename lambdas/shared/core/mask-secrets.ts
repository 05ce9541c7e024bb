const SECRET_KEY =
  /(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|token|secret|password|passwd|credentials?|authorization)$/iu;
const NAMED_LIKE_COUNT = /(?:max|min|num|total|budget|thinking)[_-]?token$/iu;

/** Shapes of keys that vendors hand out, wherever they appear in a text. */
const SECRET_SHAPES =
  /\b(?:sk-[A-Za-z0-9_-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}|xai-[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,})/gu;
const URL_PASSWORD = /(?<=:\/\/[^/\s:@]*:)[^/\s@]+(?=@)/gu;

/** Masked texts keep this many last characters, when the text has three times as many. */
const SHOWN = 4;

/** A copy of an agent's configuration in which what is named or shaped like a secret is `***` and its last four characters. */
export function maskSecrets(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, maskedEntry(key, value)]));
}

/** Where a value holds what is named or shaped like a secret: one path of keys for each text or number, never what it says. */
export function secretPaths(value: unknown): readonly (readonly (string | number)[])[] {
  return differences(value, maskedValue(value));
}

function differences(value: unknown, shown: unknown): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return Object.is(value, shown) ? [] : [[]];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) => {
    const step = isList ? Number(key) : key;
    return differences(inner, Reflect.get(Object(shown), key)).map((path) => [step, ...path]);
  });
}

function maskedEntry(key: string, value: unknown): unknown {
  if (SECRET_KEY.test(key) && !NAMED_LIKE_COUNT.test(key) && (typeof value === 'string' || typeof value === 'number')) {
    return value === '' ? '' : masked(String(value));
  }
  return maskedValue(value);
}

function maskedValue(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(SECRET_SHAPES, masked).replace(URL_PASSWORD, '***');
  if (Array.isArray(value)) return value.map(maskedValue);
  if (typeof value !== 'object' || value === null) return value;
  return maskSecrets(Object.fromEntries(Object.entries(value)));
}

function masked(secret: string): string {
  return secret.length >= SHOWN * 3 ? `***${secret.slice(-SHOWN)}` : '***';
}

/** A JSON-safe value in which one known secret, wherever it stands in a text, is `***`. */
export function withoutSecret<T>(value: T, secret: string | null): T {
  if (secret === null || secret === '') return value;
  return JSON.parse(JSON.stringify(value).replaceAll(secret, '***')) as T;
}
