import { lstatSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';
import { visibleHostMounts } from '#local/sandboxes/visible-host';

/** The agent's account on every machine, as image recipes make it. */
export const AGENT = { name: 'user', uid: 1100, home: '/home/user' } as const;

/** Where machine and host meet: sockets that lead out. */
export const MEETING_FOLDER = '/run/cloud';

const RELAY = '/opt/examhall-stand-in/programs.mjs';
const NODE = '/opt/examhall/node/bin/node';

export interface RootPlan {
  /** Host folder that becomes the machine's disk; what is on it stays. */
  readonly disk: string;
  readonly meeting: string;
  /** Host paths of the bundled files. */
  readonly runner: string;
  readonly programs: string;
  readonly ports: readonly number[];
  readonly isScreenBlack: boolean;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * The script of a machine's first process. It makes the disk its root, keeps agent user, screen and relay going, and ends with
 * its standard input, and everything on the machine with it.
 */
export function rootScript(plan: RootPlan): string {
  const { disk, meeting, ports, isScreenBlack } = plan;
  const screen = `setpriv --reuid ${AGENT.uid} --regid ${AGENT.uid} --clear-groups ${NODE} ${RELAY} screen`;
  return [
    'set -eu',
    'mount --make-rprivate /',
    'ip link set lo up',
    `mount --bind ${quote(disk)} ${quote(disk)}`,
    `cd ${quote(disk)}`,
    'mkdir -p .old proc dev/pts dev/shm etc root run/cloud tmp var/tmp usr opt/examhall opt/examhall-stand-in',
    `mkdir -p var/lib/examhall home/user media/user/data/agenthle`,
    'chmod 700 root var/lib/examhall',
    'chmod 1777 tmp var/tmp',
    `chown ${AGENT.uid}:${AGENT.uid} home/user media/user/data/agenthle`,
    `printf '%s\\n' root:x:0:0:root:/root:/bin/sh ${AGENT.name}:x:${AGENT.uid}:${AGENT.uid}::${AGENT.home}:/bin/bash > etc/passwd`,
    `printf '%s\\n' root:x:0: ${AGENT.name}:x:${AGENT.uid}: > etc/group`,
    ...hostMounts(),
    `cp ${quote(plan.runner)} opt/examhall/runner.mjs`,
    `cp ${quote(plan.programs)} .${RELAY}`,
    `mount --bind ${quote(meeting)} run/cloud`,
    'for name in null zero full random urandom tty; do [ -e dev/$name ] || cp -a /dev/$name dev/; done',
    'for name in fd stdin stdout stderr; do [ -L dev/$name ] || cp -a /dev/$name dev/; done',
    'mount -t tmpfs -o mode=1777,size=64m shm dev/shm',
    'mount -t proc proc proc',
    'pivot_root . .old',
    'umount -l /.old',
    'export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root',
    'cd /',
    'exec 3<&0 </dev/null',
    `${NODE} ${RELAY} relay ${MEETING_FOLDER} ${quote(ports.join(','))} >/dev/null 2>&1 &`,
    `( export HOME=${AGENT.home} DISPLAY=:0; while :; do ${screen} ${isScreenBlack ? 'black' : 'coloured'} || :; sleep 1; done ) >/dev/null 2>&1 &`,
    `tries=0; until [ -S ${MEETING_FOLDER}/cua.sock ] || [ $tries -gt 300 ]; do tries=$((tries + 1)); sleep 0.05; done`,
    'echo ready',
    'exec >/dev/null 2>&1',
    'cat <&3 &',
    'wait $!',
    '',
  ].join('\n');
}

/** Programs and libraries of the host, read-only; where it has links to folders the machine has the same. */
function hostMounts(): readonly string[] {
  const mounts = visibleHostMounts().flatMap(({ source, target }) => {
    const inside = quote(`.${target}`);
    const isFolder = statSync(source).isDirectory();
    if (isFolder && lstatSync(source).isSymbolicLink())
      return [`[ -L ${inside} ] || ln -s ${quote(readlinkSync(source))} ${inside}`];
    const make = isFolder ? `mkdir -p ${inside}` : `mkdir -p ${quote(`.${path.dirname(target)}`)}; : >> ${inside}`;
    return [make, `mount --bind ${quote(source)} ${inside}`, `mount -o remount,bind,ro ${inside}`];
  });
  const node = ['mkdir -p .local-bin', `ln -sf ${NODE} .local-bin/node`, 'mount --bind .local-bin usr/local/bin'];
  return [...mounts, ...node];
}
