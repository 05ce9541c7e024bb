import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { RealClock } from '#local/clock';
import { createDesktopProvider } from '#local/sandboxes/desktop-provider';
import { bundleGuestRunner } from '#local/sandboxes/guest-bundle';
import { findDesktop } from './installation.ts';
import { SetUpError } from './run-told.ts';

/**
 * Starts one desktop of the installation, as a run would: its server's version and commands and a picture of its screen
 * are looked at on the way. Nothing of it is left.
 * @returns what was seen, for a person.
 * @throws SetUpError.
 */
export async function tryDesktop(folder: string): Promise<string> {
  const root = mkdtempSync(path.join(os.tmpdir(), 'examhall-desktop-'));
  try {
    const runner = await bundleGuestRunner(path.join(root, 'bundles'));
    const provider = createDesktopProvider({
      root: path.join(root, 'sandboxes'),
      guestRunner: runner.path,
      clock: new RealClock(),
      found: findDesktop(folder, 'installed'),
      bridge: null,
    });
    const sandbox = await provider.acquire({
      clientToken: 'try',
      attemptId: 'try',
      provider: 'desktop',
      snapshot: 'try',
      image: 'ale-ubuntu22',
      os: 'linux',
      vCpus: 1,
      memoryMiB: 1024,
      gpu: false,
      network: 'open',
      privilege: 'restricted',
      resolution: null,
      expiresAt: new Date(Date.now() + 600_000).toISOString(),
      tags: {},
      knobs: {},
    });
    const left = (await provider.release(sandbox, 'delete')).filter(({ fate }) => fate !== 'gone');
    if (left.length > 0) throw new SetUpError(`the desktop did not end: ${JSON.stringify(left)} is left`);
    const { kind, network, reason } = sandbox.isolation;
    return `a desktop started; isolation: ${kind}, network: ${network}${reason === null ? '' : ` (${reason})`}`;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw error.name === 'SetUpError' ? error : new SetUpError(error.message);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
