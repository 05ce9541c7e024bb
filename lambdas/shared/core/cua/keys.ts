import { KEY_ALIASES, KEY_TABLES } from './key-tables.ts';

/** The system a server says it runs on (`os_type` of `GET /status`). */
export type CuaOs = 'linux' | 'windows' | 'darwin' | 'android';

/** What keys are to be pressed: the server's own names, or the first name that means no key there. */
export type MappedKeys = { readonly keys: readonly string[] } | { readonly unknown: string };

/** One name for the many ways a key is spelled: `Page_Down`, `pgdn` and `PageDown` are all `page_down`. */
export function canonicalKey(name: string): string {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, '');
  return KEY_ALIASES.get(plain) ?? plain;
}

/** A single character means itself on every system. */
export const isCharacter = (name: string): boolean => /^.$/su.test(name) && name !== '\n' && name !== '\t';

/** The name under which a server of this system knows a key; null when it has no such key. */
export function mapKey(os: CuaOs, name: string): string | null {
  if (name === '\n') return mapKey(os, 'enter');
  if (name === '\t') return mapKey(os, 'tab');
  if (name === ' ') return KEY_TABLES[os].get('space') ?? null;
  if (isCharacter(name)) return name;
  const canonical = canonicalKey(name);
  if (isCharacter(canonical)) return canonical;
  return KEY_TABLES[os].get(canonical) ?? null;
}

/**
 * Maps keys pressed together: a list of names, or one text such as `ctrl+shift+t`. Beside a modifier other than
 * shift a letter means its key, so that `ctrl+C` is not `ctrl+shift+c`.
 */
export function mapKeys(os: CuaOs, keys: string | readonly string[]): MappedKeys {
  const names = (typeof keys === 'string' ? [keys] : keys).flatMap(splitCombination);
  if (names.length === 0) return { unknown: '' };
  const isShortcut = names.some((name) => ['ctrl', 'alt', 'cmd'].includes(canonicalKey(name).replace(/_[lr]$/, '')));
  const mapped: string[] = [];
  for (const name of names) {
    const key = mapKey(os, name);
    if (key === null) return { unknown: name };
    mapped.push(isShortcut && /^[A-Z]$/.test(key) ? key.toLowerCase() : key);
  }
  return { keys: mapped };
}

/** `ctrl+shift+t` as three names; `+` alone and `ctrl++` keep the plus key. */
export function splitCombination(text: string): string[] {
  if (isCharacter(text) || !text.includes('+')) return text === '' ? [] : [text];
  const plus = /^(.*?)\+?\+$/.exec(text);
  if (plus !== null) return [...splitCombination(plus[1] ?? ''), '+'];
  return text.split('+').map((part) => part.trim());
}

/** The named keys a system knows, for an error message. */
export const keysOf = (os: CuaOs): readonly string[] => [...KEY_TABLES[os].keys()];
