import { createHash, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  ATTACHMENT_ID,
  ATTACHMENTS_AT_A_TIME,
  type StaticAttachment,
  type StaticAttachments,
  type StaticHolder,
} from './static-attachments.ts';

/** As it lies in a file. */
interface StaticMarker extends StaticAttachment {
  readonly version: 1;
}

export interface StaticFileOptions {
  /** Folder of the attachments of this host. */
  readonly root: string;
  /** Where machines are held; one place for the whole computer unless told. */
  readonly locks?: string;
}

/** Attachments as one file each; who has a machine is a file too, which all experiments of the computer share. */
export function createStaticFiles({ root, locks }: StaticFileOptions): StaticAttachments {
  const markers = new StaticMarkers(root);
  const endpoints = new EndpointLocks(locks);
  return {
    read: (sandboxId) => Promise.resolve(markers.read(sandboxId)),
    hold: (attachment) => {
      const { endpoint, sandboxId, attemptId } = attachment;
      const marker = markers.fileOf(sandboxId);
      const holder = endpoints.take(endpoint, { sandboxId, attemptId, marker });
      if (holder !== undefined) return Promise.resolve({ kind: 'taken', holder: told(holder) });
      const before = markers.read(sandboxId);
      if (before === undefined) markers.write(attachment);
      return Promise.resolve({ kind: 'held', attachment: before ?? attachment });
    },
    update: (attachment) => {
      const before = markers.read(attachment.sandboxId);
      if (before === undefined) return Promise.resolve(false);
      if (before.sandbox === null || attachment.sandbox !== null) markers.write(attachment);
      return Promise.resolve(true);
    },
    free: ({ sandboxId, endpoint }, left) => {
      endpoints.free(endpoint, sandboxId);
      if (left === null) markers.remove(sandboxId);
      else markers.write(left);
      return Promise.resolve();
    },
    list: (after) => {
      const ids = markers.ids().filter((id) => after === undefined || id > after);
      const page = ids.slice(0, ATTACHMENTS_AT_A_TIME);
      const attachments = page.flatMap((id) => markers.read(id) ?? []);
      const next = ids.length > page.length ? page.at(-1) : undefined;
      return Promise.resolve({ attachments, ...(next === undefined ? {} : { next }) });
    },
  };
}

function told({ attemptId, pid, marker }: EndpointHolder): StaticHolder {
  return {
    attemptId,
    where: `process ${pid}, ${marker}`,
    remedy:
      'Wait for it; if its run was killed, start that experiment again, which releases what it left, or remove that file',
  };
}

/** One file for each attachment. */
class StaticMarkers {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  fileOf(sandboxId: string): string {
    return path.join(this.#root, `${sandboxId}.json`);
  }

  read(sandboxId: string): StaticAttachment | undefined {
    if (!ATTACHMENT_ID.test(sandboxId)) return undefined;
    const marker = readJson<StaticMarker>(this.fileOf(sandboxId));
    if (marker === undefined) return undefined;
    const { version: _, ...attachment } = marker;
    return attachment;
  }

  write(attachment: StaticAttachment): void {
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    const draft = path.join(this.#root, `.${attachment.sandboxId}-${randomBytes(6).toString('hex')}`);
    const marker: StaticMarker = { version: 1, ...attachment };
    writeFileSync(draft, JSON.stringify(marker, null, 2), { mode: 0o600 });
    renameSync(draft, this.fileOf(attachment.sandboxId));
  }

  remove(sandboxId: string): void {
    rmSync(this.fileOf(sandboxId), { force: true });
  }

  ids(): string[] {
    return namesIn(this.#root)
      .map((name) => name.replace(/\.json$/, ''))
      .filter((name) => ATTACHMENT_ID.test(name))
      .sort();
  }
}

/** Who has a machine, as it lies in a file. */
interface EndpointHolder {
  readonly endpoint: string;
  readonly sandboxId: string;
  readonly attemptId: string;
  /** The holder's marker: as long as it is there, so is the attachment, whether or not its process lives. */
  readonly marker: string;
  readonly pid: number;
  /** Clock ticks since boot at which that process started; tells a reused pid apart. Null where /proc is missing. */
  readonly startTicks: string | null;
}

/** One folder for the whole computer: experiments of all folders share a machine's address. */
const DEFAULT_ENDPOINT_LOCKS =
  process.getuid?.() === 0
    ? '/run/examhall/static-endpoints'
    : path.join(os.tmpdir(), `examhall-static-endpoints-${String(process.getuid?.() ?? os.userInfo().username)}`);

/** One attachment for each address at a time; held by a file, so that a killed process does not open it to others. */
class EndpointLocks {
  readonly #folder: string;

  constructor(folder: string = DEFAULT_ENDPOINT_LOCKS) {
    this.#folder = folder;
  }

  /** Undefined when the machine is now ours, else who has it. */
  take(endpoint: string, own: Pick<EndpointHolder, 'sandboxId' | 'attemptId' | 'marker'>): EndpointHolder | undefined {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const file = this.#fileOf(endpoint);
    const draft = path.join(this.#folder, `.${randomBytes(8).toString('hex')}`);
    const holder: EndpointHolder = { endpoint, ...own, pid: process.pid, startTicks: startTicksOf(process.pid) };
    writeFileSync(draft, JSON.stringify(holder), { mode: 0o600 });
    try {
      for (;;) {
        if (linked(draft, file)) return undefined;
        const found = readJson<EndpointHolder>(file);
        if (found?.sandboxId === own.sandboxId && found.marker === own.marker) return undefined;
        if (found !== undefined && isHeld(found)) return found;
        this.#moveAside(file, found);
      }
    } finally {
      rmSync(draft, { force: true });
    }
  }

  /** Gives the machine up, if it is this attachment's. */
  free(endpoint: string, sandboxId: string): void {
    const file = this.#fileOf(endpoint);
    if (readJson<EndpointHolder>(file)?.sandboxId === sandboxId) rmSync(file, { force: true });
  }

  /** Drops a lock nobody holds, and only that one: another process may have taken it over in this moment. */
  #moveAside(file: string, found: EndpointHolder | undefined): void {
    const aside = `${file}.${randomBytes(8).toString('hex')}`;
    try {
      renameSync(file, aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    const moved = readJson<EndpointHolder>(aside);
    if (moved !== undefined && moved.sandboxId !== found?.sandboxId) linked(aside, file);
    rmSync(aside, { force: true });
  }

  #fileOf(endpoint: string): string {
    return path.join(this.#folder, `${createHash('sha256').update(endpoint).digest('hex').slice(0, 32)}.json`);
  }
}

/** Held by a marker that is there, or by a process that has not come to write one. */
function isHeld(holder: EndpointHolder): boolean {
  if (readJson(holder.marker) !== undefined) return true;
  return startTicksOf(holder.pid) !== null && startTicksOf(holder.pid) === holder.startTicks;
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function startTicksOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
