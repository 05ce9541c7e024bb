/** Reads `KEY=value` lines; `export`, comments and quotes as upstream's loader has them. Other lines are skipped. */
export function parseDotenv(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const raw of text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)) {
    const line = raw
      .trim()
      .replace(/^export /, '')
      .trimStart();
    const equals = line.indexOf('=');
    if (line.startsWith('#') || equals === -1) continue;
    const key = line.slice(0, equals).trim();
    if (/^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(key)) values.set(key, unquote(line.slice(equals + 1).trim()));
  }
  return values;
}

/** ` #` starts a comment only after an unquoted value; quotes go only in matching pairs. */
function unquote(value: string): string {
  const isQuoted = value.startsWith("'") || value.startsWith('"');
  const bare = isQuoted ? value : (value.split(' #', 1)[0] ?? '').trimEnd();
  const first = bare[0];
  return bare.length >= 2 && (first === "'" || first === '"') && bare.endsWith(first) ? bare.slice(1, -1) : bare;
}
