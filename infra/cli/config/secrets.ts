import path from 'node:path';
import { LineCounter, isScalar, parseDocument } from 'yaml';
import { type LocatedProblem, type Location, problemAt } from '#core/located';
import { parseDotenv } from './dotenv.ts';
import type { Variables } from './environment-references.ts';
import { readText, resolvePath } from './read-text.ts';

/** The environment of a run with its secrets in it, and which names came from a secrets file. */
export interface Secrets extends Variables {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

interface SecretsRequest {
  /** The experiment file as written. */
  readonly text: string;
  readonly file: string;
  readonly folder: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface SecretFileKey {
  readonly value: string;
  readonly at: Location;
}

/**
 * `secret_file`, read before anything is substituted, overwrites the environment. Without that key, `secret/.env` and then
 * `.env` beside the experiment fill in what is not set. Files that do not exist are passed over in silence.
 */
export async function loadSecrets(request: SecretsRequest): Promise<Secrets> {
  const { folder, home, file } = request;
  const key = secretFileKey(request.text, file);
  const files =
    key === null
      ? [path.join(folder, 'secret', '.env'), path.join(folder, '.env')]
      : [resolvePath(key.value, folder, home)];
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.env)) if (value !== undefined) values[name] = value;
  const secretNames = new Set<string>();
  const problems: LocatedProblem[] = [];
  for (const secretFile of files) {
    const reading = await readText(secretFile);
    if ('fault' in reading) {
      if (!reading.fault.isAbsent)
        problems.push(unreadable(key?.at ?? { file, line: 1, column: 1 }, secretFile, reading.fault.what));
      continue;
    }
    for (const [name, value] of parseDotenv(reading.text)) {
      if (key === null && Object.hasOwn(values, name)) continue;
      values[name] = value;
      secretNames.add(name);
    }
  }
  return { values, secretNames, problems, warnings: key === null ? [] : unsubstituted(key) };
}

function secretFileKey(text: string, file: string): SecretFileKey | null {
  const masked = text.replaceAll(/\$\{env:[^}\n]*\}/g, (written) => 'x'.repeat(written.length));
  const lineCounter = new LineCounter();
  const document = parseDocument(masked, { version: '1.1', prettyErrors: false, logLevel: 'silent', lineCounter });
  const node = document.hasIn(['secret_file']) ? document.getIn(['secret_file'], true) : null;
  if (!isScalar(node) || (typeof node.value !== 'string' && typeof node.value !== 'number')) return null;
  const [start, end] = node.range ?? [0, 0, 0];
  const { line, col } = lineCounter.linePos(start);
  const written = text.slice(start, end).replace(/^(["'])(.*)\1$/s, '$2');
  return { value: written.includes('${env:') ? written : String(node.value), at: { file, line, column: col } };
}

function unsubstituted({ value, at }: SecretFileKey): LocatedProblem[] {
  if (!value.includes('${env:')) return [];
  return [
    problemAt(at, {
      what: '"secret_file" is read before variables are substituted, so this names no file',
      got: JSON.stringify(value),
      allowed: 'a path without ${env:NAME}',
      action: 'write the path out',
    }),
  ];
}

function unreadable(at: Location, file: string, what: string): LocatedProblem {
  return problemAt(at, {
    what: `the secrets file ${what}`,
    got: JSON.stringify(file),
    allowed: 'a readable UTF-8 file of KEY=value lines, or none',
    action: 'make it readable, or remove it',
  });
}
