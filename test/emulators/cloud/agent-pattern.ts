/** Go's regular expressions repeat a piece this often at most. */
const MOST_REPEATS = 1000;

/** What Go's regular expressions know nothing of, by how it is written. */
const UNKNOWN_TO_GO: readonly (readonly [string, RegExp])[] = [
  ['a look ahead or behind', /\(\?<?[=!]/u],
  ['a reference back', /\\(?:[1-9]|k<)/u],
  ['a group that gives nothing back', /\(\?>|[*+?}]\+/u],
];

/**
 * Why the agent of a machine refuses every command of a document whose parameter has this pattern, or null when it takes it: it
 * compiles the pattern with Go's regular expressions (RE2), while the service itself takes more. Pieces within repeated pieces are
 * not multiplied.
 */
export function whyAgentRefuses(pattern: string): string | null {
  const bare = pattern.replace(/\\\\/gu, '');
  const unknown = UNKNOWN_TO_GO.find(([, written]) => written.test(bare));
  if (unknown !== undefined) return `${unknown[0]} in ${pattern}`;
  const counts = [...bare.matchAll(/(?<!\\)\{(\d+)(?:,(\d*))?\}/gu)].flatMap(([, least = '0', most]) => [
    least,
    most ?? '0',
  ]);
  const highest = Math.max(0, ...counts.map(Number));
  return highest > MOST_REPEATS ? `invalid repeat count ${String(highest)} in ${pattern}` : null;
}
