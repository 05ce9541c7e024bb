import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { GuestRunner } from '#contracts/guest';
import type { Bundle } from '../../bundler.ts';

/**
 * Bundles the guest runner into one file; the same sources give the same file.
 * @throws BundleError.
 */
export async function bundleGuestRunner(cacheDir: string): Promise<Bundle> {
  const { bundle } = await import('../../bundler.ts');
  return bundle(path.join(import.meta.dirname, '../../../images/guest/runner.ts'), { outDir: cacheDir });
}

/**
 * Bundles the desktop bridge, which agents run: readable by everybody.
 * @throws BundleError.
 */
export async function bundleDesktopBridge(cacheDir: string): Promise<Bundle> {
  const { bundle } = await import('../../bundler.ts');
  const made = await bundle(path.join(import.meta.dirname, '../../../images/guest/cua-desktop.ts'), {
    outDir: cacheDir,
  });
  await chmod(made.path, 0o644);
  return made;
}

/** The bridge of agents outside the sandbox, likewise. @throws BundleError. */
export async function bundlePrimitivesBridge(cacheDir: string): Promise<Bundle> {
  const { bundle } = await import('../../bundler.ts');
  return bundle(path.join(import.meta.dirname, '../../../images/guest/vm-primitives.ts'), { outDir: cacheDir });
}

/**
 * Loads the runner's verbs into this process: starting it anew for each would cost more than the verbs do.
 * @throws TypeError when the file is not a guest runner.
 */
export async function loadGuestRunner(file: string): Promise<GuestRunner> {
  const module = (await import(pathToFileURL(file).href)) as { readonly guestRunner?: GuestRunner };
  if (module.guestRunner === undefined) throw new TypeError(`${file} is not a guest runner: it exports no guestRunner`);
  return module.guestRunner;
}
