/**
 * File names for object keys. A key's segments become folders and one file, readable where the key is plain, and every
 * key has its own path on every file system: case-insensitive, normalising, with 255-byte names, and with `a` and `a/b`
 * both present.
 *
 * - `a-z 0-9 _ - =` stand for themselves, `^` switches between small and capital letters, other bytes are `%xx`.
 * - A file's name always has a dot (one is added when there is none or it ends in one); a folder's name never has.
 * - A name of more than 200 characters goes on in a folder whose name ends in `+`.
 */
const PIECE_CHARS = 200;

/** Path pieces below the bucket's folder, the last one being the file. */
export function pathOfKey(key: string): readonly string[] {
  const segments = key.split('/');
  const last = segments.pop() ?? '';
  return [...segments.flatMap(folderPieces), ...filePieces(last)];
}

/** Path pieces of the deepest folder that holds every key with this prefix, and the part of the prefix it stands for. */
export function folderOfPrefix(prefix: string): { readonly pieces: readonly string[]; readonly covered: string } {
  const covered = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  return { pieces: covered.split('/').slice(0, -1).flatMap(folderPieces), covered };
}

export type PathEntry =
  | { readonly kind: 'continuation'; readonly text: string }
  | { readonly kind: 'folder' | 'file'; readonly segment: string };

/** What an entry of a folder stands for; `carried` is the text of the continuation folders above it. */
export function readEntry(name: string, carried: string): PathEntry {
  if (name.endsWith('+')) return { kind: 'continuation', text: carried + name.slice(0, -1) };
  if (!name.includes('.')) return { kind: 'folder', segment: unescape(carried + name) };
  return { kind: 'file', segment: unescape(carried + (name.endsWith('.') ? name.slice(0, -1) : name)) };
}

function folderPieces(segment: string): string[] {
  return split(escape(segment).replaceAll('.', '%2e'));
}

function filePieces(segment: string): string[] {
  const escaped = escape(segment);
  const pieces = split(escaped.length > PIECE_CHARS ? escaped.replaceAll('.', '%2e') : escaped);
  const last = pieces.pop() ?? '';
  return [...pieces, last.includes('.') && !last.endsWith('.') ? last : `${last}.`];
}

function split(escaped: string): string[] {
  const pieces: string[] = [];
  let rest = escaped;
  while (rest.length > PIECE_CHARS) {
    pieces.push(`${rest.slice(0, PIECE_CHARS)}+`);
    rest = rest.slice(PIECE_CHARS);
  }
  return [...pieces, rest];
}

function escape(segment: string): string {
  if (segment === '') return '%';
  let text = '';
  let isUpper = false;
  for (const byte of Buffer.from(segment, 'utf8')) {
    const char = String.fromCharCode(byte);
    if (/[A-Za-z]/.test(char)) {
      const wantsUpper = char < 'a';
      if (wantsUpper !== isUpper) text += '^';
      isUpper = wantsUpper;
      text += char.toLowerCase();
    } else {
      const isPlain = /[0-9_=-]/.test(char) || (char === '.' && text !== '');
      text += isPlain ? char : `%${byte.toString(16).padStart(2, '0')}`;
    }
  }
  return text;
}

function unescape(text: string): string {
  if (text === '%') return '';
  const bytes: number[] = [];
  let isUpper = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '^') {
      isUpper = !isUpper;
    } else if (char === '%') {
      bytes.push(Number.parseInt(text.slice(at + 1, at + 3), 16));
      at += 2;
    } else {
      bytes.push((isUpper ? char.toUpperCase() : char).charCodeAt(0));
    }
  }
  return Buffer.from(bytes).toString('utf8');
}
