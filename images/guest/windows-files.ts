import { closeSync, fsyncSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** What files need on Windows beside the same calls as elsewhere. Unverified on a real Windows. */

/** Answers of Windows while somebody else has a file open, as a scanner of viruses has a new one for a moment. */
const BUSY: ReadonlySet<unknown> = new Set(['EPERM', 'EACCES', 'EBUSY']);
const TRIES = 10;
const PAUSE_MS = 20;

function isBusy(error: unknown, tries: number, platform: NodeJS.Platform): boolean {
  return platform === 'win32' && tries < TRIES && BUSY.has((error as { code?: unknown } | null)?.code);
}

/** Renames, links or removes a file; on Windows again for about a second while it is busy. @throws what the last try threw. */
export function whileBusy<T>(work: () => T, platform: NodeJS.Platform = process.platform): T {
  for (let tries = 1; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error, tries, platform)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS * tries);
    }
  }
}

/** As `whileBusy`, with other work meanwhile. */
export async function whileBusyLater<T>(
  work: () => Promise<T>,
  platform: NodeJS.Platform = process.platform,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error, tries, platform)) throw error;
      await sleep(PAUSE_MS * tries);
    }
  }
}

/** Has names of a folder written to the disk. Windows does so by itself, and refuses to be asked. */
export function syncFolder(folder: string, platform: NodeJS.Platform = process.platform): void {
  if (platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Devices, which are meant whatever the folder and whatever comes after a dot. */
const DEVICE = /^(?:con|prn|aux|nul|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\..*)?$/i;
const DRIVE = /^[A-Za-z]:$/;

/**
 * The first name of a path that Windows does not take as it stands: it refuses some characters, drops a dot or a space at the end,
 * takes others for a device, and writes what follows a colon where no listing shows it. Undefined when there is none.
 */
export function nameNotForWindows(path: string): string | undefined {
  const [first = '', ...rest] = path.split(/[\\/]/);
  const names = DRIVE.test(first) ? rest : [first, ...rest];
  return names.find((name) => /[<>:"|?*\u0000-\u001f]|[. ]$/.test(name) || DEVICE.test(name));
}
