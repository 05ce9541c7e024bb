import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { StageSettingsSchema, type StageSettings } from './settings.ts';

const STAGES = path.join(path.dirname(fileURLToPath(import.meta.url)), 'stages');
const DEFAULT_STAGE = 'default';

/** Settings that cannot be used; the message has one line for each problem. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * The settings that `cdk -c stage=<name>` or `-c settings=<file>` names, of stage `default` without either. Reads what the
 * CDK command line hands to an app; nothing else of the app reads context or environment.
 * @throws SettingsError naming every problem of the file at once.
 */
export function loadSettings(env: Readonly<Record<string, string | undefined>>): StageSettings {
  const { stage, settings } = readContext(env);
  const file = settings ?? path.join(STAGES, `${stage ?? DEFAULT_STAGE}.json`);
  const loaded = parseSettings(readJson(file), file);
  if (stage !== undefined && loaded.stage !== stage) {
    throw new SettingsError(`${file}: stage: ${shown(loaded.stage)} is not the stage that -c stage=${stage} names`);
  }
  return loaded;
}

/** @throws SettingsError with one line for each problem: where, the value seen, what is allowed. */
export function parseSettings(document: unknown, file: string): StageSettings {
  const parsed = StageSettingsSchema.safeParse(document, { reportInput: true });
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.flatMap((issue) => describe(issue, document));
  throw new SettingsError(
    `${file} cannot be used (${String(lines.length)} problems):\n${lines.map((line) => `  ${line}`).join('\n')}`,
  );
}

const ContextSchema = z.looseObject({ stage: z.string().optional(), settings: z.string().optional() });

function readContext(env: Readonly<Record<string, string | undefined>>): z.infer<typeof ContextSchema> {
  const text = env['CDK_CONTEXT_JSON'];
  if (text === undefined) return {};
  const parsed = ContextSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new SettingsError('-c stage and -c settings take one text each, as -c stage=prod');
  if (parsed.data.stage !== undefined && !/^[a-z][a-z0-9-]*$/u.test(parsed.data.stage)) {
    throw new SettingsError(`-c stage=${parsed.data.stage}: a stage is lower-case letters, digits and -`);
  }
  return parsed.data;
}

function readJson(file: string): unknown {
  if (!existsSync(file)) {
    const known = readdirSync(STAGES).map((name) => name.replace(/\.json$/u, ''));
    throw new SettingsError(
      `no settings at ${file}; stages with a file in infra/config/stages: ${known.join(', ')}. Copy example.json, or name a file with -c settings=<file>`,
    );
  }
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown;
  } catch (error) {
    throw new SettingsError(`${file} is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type Issue = z.core.$ZodIssue;

function describe(issue: Issue, document: unknown): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) =>
      line([...issue.path, key], document, 'is not a setting; remove it or see infra/config/settings.ts'),
    );
  }
  if (issue.code === 'invalid_key') {
    const [where, key] = [issue.path.map(String).join('.'), shown(issue.path.at(-1))];
    return issue.issues.map(({ message }) => `${where}: the key ${key}: ${message}`);
  }
  return [line(issue.path, document, issue.message)];
}

function line(where: readonly PropertyKey[], document: unknown, allowed: string): string {
  const name = where.map(String).join('.') || 'the file';
  return `${name}: ${shown(valueAt(document, where))}: ${allowed}`;
}

function valueAt(document: unknown, where: readonly PropertyKey[]): unknown {
  return where.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? (Reflect.get(value, key) as unknown) : undefined),
    document,
  );
}

function shown(value: unknown): string {
  const text = value === undefined ? 'missing' : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
