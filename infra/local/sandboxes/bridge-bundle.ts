import path from 'node:path';
import type { Bundle } from '../../bundler.ts';

const GUEST = path.join(import.meta.dirname, '../../../images/guest');

/**
 * Bundles the desktop bridge into one file for plain Node 20; the same sources give the same file.
 * @throws BundleError.
 */
export async function bundleDesktopBridge(cacheDir: string): Promise<Bundle> {
  const { bundle } = await import('../../bundler.ts');
  return bundle(path.join(GUEST, 'cua-desktop.ts'), { outDir: cacheDir });
}

/** The same for the bridge of agents that run outside the sandbox. @throws BundleError. */
export async function bundlePrimitivesBridge(cacheDir: string): Promise<Bundle> {
  const { bundle } = await import('../../bundler.ts');
  return bundle(path.join(GUEST, 'vm-primitives.ts'), { outDir: cacheDir });
}
