const space = /[ \t\n\r]*/y;
const text = /"(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const atom = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;

const deepest = 200;

/**
 * Where a text stops being JSON, or null when it is JSON; the messages of `JSON.parse` do not always say. More than 200
 * levels of nesting are a fault.
 */
export function jsonFaultOffset(source: string): number | null {
  let offset = 0;
  let depth = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = offset;
    if (!pattern.test(source)) return false;
    offset = pattern.lastIndex;
    return true;
  };
  const takeCharacter = (character: string): boolean => {
    take(space);
    if (source[offset] !== character) return false;
    offset += 1;
    return true;
  };
  const items = (close: string, item: () => boolean): boolean => {
    depth += 1;
    if (depth > deepest) return false;
    const isEmpty = takeCharacter(close);
    if (!isEmpty) {
      do if (!item()) return false;
      while (takeCharacter(','));
    }
    depth -= 1;
    return isEmpty || takeCharacter(close);
  };
  const member = (): boolean => {
    take(space);
    return take(text) && takeCharacter(':') && value();
  };
  const value = (): boolean => {
    if (takeCharacter('{')) return items('}', member);
    if (takeCharacter('[')) return items(']', value);
    return take(text) || take(atom);
  };
  const isValue = value();
  take(space);
  return isValue && offset === source.length ? null : offset;
}
