import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as z from 'zod';

/** The API remembers a key for a day; near its end a key may be forgotten between two tries. */
const HOLDS_SECONDS = 23 * 3600;

const PendingSchema = z.strictObject({ key: z.string().regex(/^[A-Za-z0-9-]{1,128}$/u), createdAt: z.iso.datetime() });
type Pending = z.infer<typeof PendingSchema>;

/** A start that may have to be asked for again. */
export interface StartKey {
  readonly key: string;
  /** When the same start was asked for before without an answer, as ISO-8601; null for a new one. */
  readonly repeats: string | null;
  /** Forgets it: there was an answer, so the next start of the same is a new one. */
  readonly settle: () => Promise<void>;
}

export interface StartKeyOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: Date;
}

/**
 * The idempotency key of a start: made of what is asked for and something random, and kept until there is an answer. The same
 * command after a lost answer so finds the sweep that it has started; after an answer it starts another.
 */
export async function startKey(host: string, body: unknown, options: StartKeyOptions): Promise<StartKey> {
  const hash = createHash('sha256')
    .update(JSON.stringify([host, body]))
    .digest('hex');
  const folder = stateFolder(options.env);
  const file = path.join(folder, `${hash}.json`);
  const settle = async (): Promise<void> => {
    await rm(file, { force: true });
  };
  const fresh: Pending = {
    key: `${hash.slice(0, 32)}-${randomBytes(12).toString('hex')}`,
    createdAt: options.now.toISOString(),
  };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (;;) {
    if (await keep(file, fresh)) return { key: fresh.key, repeats: null, settle };
    const before = await readPending(file);
    const age =
      before === null ? Number.POSITIVE_INFINITY : (options.now.getTime() - Date.parse(before.createdAt)) / 1000;
    if (before !== null && age >= 0 && age < HOLDS_SECONDS)
      return { key: before.key, repeats: before.createdAt, settle };
    await settle();
  }
}

/** False when there is one already. It appears whole or not at all, so that a second command at once reads the first one's. */
async function keep(file: string, pending: Pending): Promise<boolean> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, JSON.stringify(pending), { mode: 0o600, flag: 'wx', flush: true });
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function readPending(file: string): Promise<Pending | null> {
  try {
    return PendingSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return null;
  }
}

function stateFolder(env: StartKeyOptions['env']): string {
  const state = env['XDG_STATE_HOME'] ?? '';
  const home = env['HOME'] ?? '';
  const base = path.isAbsolute(state) ? state : path.join(home === '' ? os.homedir() : home, '.local', 'state');
  return path.join(base, 'examhall', 'starts');
}
