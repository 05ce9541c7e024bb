/** Whether the whole text fits a pattern in which `*` stands for any text. Takes time in proportion to both at most. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const last = rest.at(-1) ?? '';
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of rest.slice(0, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/**
 * The pattern without the path of its role, which a session's ARN does not tell; null for one that has no such path. Role names are
 * unique in an account whatever their path; a name with `*` counts only where nobody but IAM Identity Center can make roles.
 */
export function withoutRolePath(pattern: string): string | null {
  const match = /^(arn:[^:]+:iam::[^:]*:role\/)(?:.+\/)([^/]+)$/u.exec(pattern);
  const name = match?.[2] ?? '';
  if (match === null || (name.includes('*') && !name.startsWith('AWSReservedSSO_'))) return null;
  return `${match[1] ?? ''}${name}`;
}

/** Why a pattern gives nobody a role, and what to write instead; null for one that somebody may fit. */
export function principalPatternProblem(pattern: string): string | null {
  const session = /^(arn:[^:]+):sts::([^:]*):assumed-role\/([^/]+)/u.exec(pattern);
  if (session !== null) {
    const [, start = '', account = '', role = ''] = session;
    return `names a session, and how that is called is the caller's own word; write ${start}:iam::${account}:role/${role} for everybody who may take that role`;
  }
  if (/:sts:|assumed-role\/|federated-user\//u.test(pattern))
    return 'names a session, and how that is called is the caller’s own word; write arn:aws:iam::<account>:role/<name> of its role';
  if (somebodyFits(pattern) || somebodyFits(withoutRolePath(pattern) ?? '')) return null;
  if (/^arn:[^:]+:iam::[^:]*:role\/.*\//u.test(pattern))
    return 'fits nobody: the path of a role is not told by who has taken it; write arn:aws:iam::<account>:role/<name> for each role';
  return 'fits nobody; write arn:aws:iam::<account of 12 digits>:role/<name> or :user/<path><name>, with * for any text';
}

/** One character of an ARN, or any number of them. */
interface Piece {
  readonly fits: RegExp;
  readonly isRepeated: boolean;
}

const NAME = /[\w+=,.@-]/u;

/** Everybody who has an ARN that counts: a role without its path, a user, the root of an account. */
const PRINCIPALS: readonly (readonly Piece[])[] = [
  [...pieces('role/'), ...some(NAME)],
  [...pieces('user/'), any(/[!-~]/u), ...some(NAME)],
  pieces('root'),
].map((rest) => [
  ...pieces('arn:'),
  ...some(/[a-z-]/u),
  ...pieces(':iam::'),
  ...Array.from({ length: 12 }, () => one(/\d/u)),
  ...pieces(':'),
  ...rest,
]);

function one(fits: RegExp): Piece {
  return { fits, isRepeated: false };
}

function any(fits: RegExp): Piece {
  return { fits, isRepeated: true };
}

function some(fits: RegExp): readonly Piece[] {
  return [one(fits), any(fits)];
}

function pieces(text: string): readonly Piece[] {
  return Array.from(text, (char) => one(new RegExp(char, 'u')));
}

function somebodyFits(pattern: string): boolean {
  return PRINCIPALS.some((principal) => canFit(pattern, principal));
}

/** Whether any text that the pieces allow fits the pattern; every pair of positions is looked at once. */
function canFit(pattern: string, allowed: readonly Piece[]): boolean {
  const seen = new Set<number>();
  const open: (readonly [number, number])[] = [[0, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [at, piece] = next;
    if (at === pattern.length && piece === allowed.length) return true;
    const id = at * (allowed.length + 1) + piece;
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...stepsFrom(at, piece, pattern[at], allowed[piece]));
  }
  return false;
}

function stepsFrom(
  at: number,
  piece: number,
  char: string | undefined,
  allowed: Piece | undefined,
): readonly (readonly [number, number])[] {
  const isStar = char === '*';
  const isTaken = char !== undefined && allowed !== undefined && !isStar && allowed.fits.test(char);
  return [
    ...(isStar ? [[at + 1, piece] as const] : []),
    ...(allowed !== undefined && (isStar || allowed.isRepeated) ? [[at, piece + 1] as const] : []),
    ...(isTaken ? [[at + 1, allowed.isRepeated ? piece : piece + 1] as const] : []),
  ];
}
