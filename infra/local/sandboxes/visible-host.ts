import { existsSync, readdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { GuestMount } from '#contracts/guest';

/** Programs and libraries: what a command needs to run at all. */
const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** The few settings programs read; no accounts, no keys, no services. */
const SETTINGS = new Set([
  ...['alternatives', 'bash.bashrc', 'ca-certificates', 'ca-certificates.conf', 'crypto-policies', 'fonts', 'gai.conf'],
  ...['gitconfig', 'host.conf', 'hosts', 'inputrc', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'magic'],
  ...['mime.types', 'nsswitch.conf', 'papersize', 'perl', 'pki', 'profile', 'protocols', 'resolv.conf', 'services'],
  ...['ssl', 'terminfo', 'timezone'],
]);
const SETTING_FAMILIES = /^(?:java|python|lua|R|ImageMagick|libreoffice)[-.0-9]*$/;

/** Settings that programs with a window read besides. */
const DESKTOP_SETTINGS = ['X11', 'chromium', 'chromium.d', 'gtk-2.0', 'gtk-3.0', 'opt/chrome', 'xdg'];

/** Where the agent's Node lies inside. */
export const GUEST_NODE = '/opt/examhall/node/bin/node';

/** Everything of the host that a walled-in agent sees, read-only. What is not named here is not there. */
export function visibleHostMounts(nodePath: string = process.execPath): GuestMount[] {
  const show = (source: string, target = source): GuestMount => ({ source, target, readOnly: true });
  const settings = existsSync('/etc') ? readdirSync('/etc') : [];
  return [
    ...SYSTEM_FOLDERS.filter((folder) => existsSync(folder)).map((folder) => show(folder)),
    ...settings
      .filter((name) => SETTINGS.has(name) || SETTING_FAMILIES.test(name))
      .sort()
      .filter((name) => existsSync(`/etc/${name}`) && !name.endsWith('.d.dpkg-old'))
      .map((name) => show(`/etc/${name}`)),
    show(realpathSync(nodePath), GUEST_NODE),
  ];
}

/** Settings shown in sandboxes with a screen only. */
export function desktopSettingMounts(): GuestMount[] {
  return DESKTOP_SETTINGS.map((name) => `/etc/${name}`)
    .filter((source) => existsSync(source))
    .map((source) => ({ source, target: source, readOnly: true }));
}

/**
 * The first thing meant to be hidden that a shown folder would let out (both named), or null. A shown folder may neither
 * hold nor lie inside a hidden one; the single file of Node may lie anywhere.
 */
export function findExposed(mounts: readonly GuestMount[], hidden: readonly string[]): string | null {
  for (const mount of mounts) {
    if (mount.target === GUEST_NODE) continue;
    const shown = realOf(mount.source);
    const exposed = hidden.find((each) => holds(shown, realOf(each)) || holds(realOf(each), shown));
    if (exposed !== undefined) return `${exposed} is to be hidden, but ${mount.source} has to be shown`;
  }
  return null;
}

function holds(folder: string, inner: string): boolean {
  return inner === folder || inner.startsWith(folder.endsWith(path.sep) ? folder : `${folder}${path.sep}`);
}

/** The real path as far as it exists. */
function realOf(target: string): string {
  try {
    return realpathSync(target);
  } catch {
    const parent = path.dirname(target);
    return parent === target ? target : path.join(realOf(parent), path.basename(target));
  }
}
