import type { GuestAccount, GuestMount } from '#contracts/guest';

/** Where the runner and its Node lie inside; launch scripts too. */
export const INSIDE = {
  folder: '/opt/examhall/guest',
  node: '/opt/examhall/guest/node',
  runner: '/opt/examhall/guest/runner.mjs',
  launch: '/opt/examhall/guest/launch.sh',
} as const;

/** The new root is built over /sys, which every Linux has and no job is shown. */
const NEW_ROOT = '/sys';

/** A host path to show inside, with what it is on the host. */
export interface RootMount extends GuestMount {
  readonly isFolder: boolean;
}

export interface RootPlan {
  readonly mounts: readonly RootMount[];
  readonly account: GuestAccount | null;
  readonly hostname: string;
  /** Shell text written to INSIDE.launch. */
  readonly launchScript: string;
}

/** Made anew rather than mounted, so that they look like what they are in their folder's listing. */
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
const DEVICE_LINKS = ['fd', 'stdin', 'stdout', 'stderr'];

/** Single-quoted for a POSIX shell; any text without NUL comes out as one word. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** An fstab field: blanks and backslashes as octal. */
function quoteFstab(text: string): string {
  return text.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/**
 * The script that the init of a new mount and PID namespace reads from its standard input. It builds a root of nothing but
 * the listed mounts, moves into it, lets go of the host's root, prints `ready` and stays as long as its input is open:
 * when whoever holds the other end is gone, so is every process inside.
 */
export function rootScript(plan: RootPlan): string {
  const mounts = [...plan.mounts].sort((a, b) => a.target.split('/').length - b.target.split('/').length);
  const below = (target: string): string => quoteShell(target.replace(/^\/+/, ''));
  const isEtcShown = mounts.some((mount) => mount.target === '/etc');
  const folders = [
    ...['.old', 'dev/pts', 'dev/shm', 'proc', 'tmp', 'etc', INSIDE.folder].map(below),
    ...mounts.map((mount) => below(mount.isFolder ? mount.target : mount.target.replace(/\/[^/]+$/, ''))),
  ];
  const files = mounts.filter((mount) => !mount.isFolder).map((mount) => below(mount.target));
  const accountFiles = isEtcShown
    ? { passwd: '.passwd', group: '.group' }
    : { passwd: 'etc/passwd', group: 'etc/group' };
  return [
    'set -eu',
    `mount -t tmpfs -o mode=0755,nosuid,size=64m,nr_inodes=65536 examhall ${NEW_ROOT}`,
    `cd ${NEW_ROOT}`,
    `mkdir -p -- ${[...new Set(folders)].filter((folder) => folder !== "''").join(' ')}`,
    ...files.map((file) => `: > ${file}`),
    `printf %s ${quoteShell(passwdText(plan.account))} > ${accountFiles.passwd}`,
    `printf %s ${quoteShell(groupText(plan.account))} > ${accountFiles.group}`,
    `printf %s ${quoteShell(plan.launchScript)} > ${below(INSIDE.launch)}`,
    'chmod 1777 tmp',
    `cp -a ${[...DEVICES, ...DEVICE_LINKS].map((name) => `/dev/${name}`).join(' ')} dev/`,
    'ln -s pts/ptmx dev/ptmx',
    `hostname ${quoteShell(plan.hostname)} || :`,
    `printf %s ${quoteShell(fstab(mounts, isEtcShown))} > .fstab`,
    'mount -a -T .fstab',
    'pivot_root . .old',
    'umount -l /.old',
    'echo ready',
    'exec > /dev/null 2>&1',
    'cat',
    '',
  ].join('\n');
}

function fstab(mounts: readonly RootMount[], isEtcShown: boolean): string {
  const line = (source: string, target: string, type: string, options: string): string =>
    `${quoteFstab(source)} ${quoteFstab(NEW_ROOT + target)} ${type} ${options} 0 0\n`;
  const bind = (source: string, target: string, readOnly: boolean): string =>
    line(source, target, 'none', `bind,${readOnly ? 'ro,' : ''}nosuid,nodev`);
  return [
    ...mounts.map((mount) => bind(mount.source, mount.target, mount.readOnly)),
    ...(isEtcShown
      ? [bind(`${NEW_ROOT}/.passwd`, '/etc/passwd', true), bind(`${NEW_ROOT}/.group`, '/etc/group', true)]
      : []),
    line('devpts', '/dev/pts', 'devpts', 'newinstance,ptmxmode=0666,mode=0620,nosuid,noexec'),
    line('shm', '/dev/shm', 'tmpfs', 'mode=1777,nosuid,nodev,size=256m'),
    line('proc', '/proc', 'proc', 'nosuid,nodev,noexec'),
  ].join('');
}

function passwdText(account: GuestAccount | null): string {
  const agent =
    account === null || account.uid === null
      ? ''
      : `${account.name}:x:${account.uid}:${account.gid ?? account.uid}::${account.home}:/bin/bash\n`;
  return `root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n${agent}`;
}

function groupText(account: GuestAccount | null): string {
  const agent = account?.gid === undefined || account.gid === null ? '' : `${account.name}:x:${account.gid}:\n`;
  return `root:x:0:\ntty:x:5:\nnogroup:x:65534:\n${agent}`;
}

export interface LaunchPlan {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/**
 * The script that turns into the job's command: exactly the environment given, the folder, then `exec`. What keeps the
 * command from starting is told on descriptor 3, which the command itself never has.
 */
export function launchScript(plan: LaunchPlan): string {
  const [program = ''] = plan.argv;
  const exists = program.includes('/')
    ? `[ -f ${quoteShell(program)} ] && [ -x ${quoteShell(program)} ]`
    : `command -v ${quoteShell(program)} > /dev/null 2>&1`;
  const fail = (what: string, code: number): string => `{ printf %s ${quoteShell(what)} >&3; exit ${code}; }`;
  return [
    'unset PWD OLDPWD SHLVL PATH 2> /dev/null',
    ...Object.entries(plan.env).map(([name, value]) => `export ${name}=${quoteShell(value)}`),
    `cd ${quoteShell(plan.cwd)} 2> /dev/null || ${fail(`the folder ${plan.cwd} does not exist or is closed to the account`, 126)}`,
    'unset PWD OLDPWD',
    `${exists} || ${fail(`${program} is not a program that can be run here`, 127)}`,
    `exec ${plan.argv.map(quoteShell).join(' ')} 3>&-`,
    '',
  ].join('\n');
}
