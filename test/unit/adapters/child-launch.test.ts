import { describe, expect, it } from 'vitest';
import { CHILD_ENVIRONMENT, childCommand, type ChildIsolation } from '#adapters/child-launch';

function commandOf(isolation: ChildIsolation, nodeVersion: string): string {
  const { command, args } = childCommand({
    isolation,
    node: '/opt/node',
    nodeVersion,
    folder: '/tmp/child/',
    memoryMiB: 100,
    timeoutSeconds: 30,
    script: ['/tmp/child/entry.mjs'],
  });
  return [command, ...args].join(' ');
}

const node = (flag: string): string =>
  `/opt/node ${flag} --allow-fs-read=/tmp/child/ --no-warnings --max-old-space-size=100 /tmp/child/entry.mjs`;

describe('the command of a child', () => {
  it.each([
    ['20.19.0', '--experimental-permission'],
    ['v20.20.2', '--experimental-permission'],
    ['22.12.0', '--experimental-permission'],
    ['22.13.0', '--permission'],
    ['24.9.0', '--permission'],
  ])('asks Node %s for its permission model as %s', (version, flag) => {
    expect(commandOf('process', version).endsWith(node(flag))).toBe(true);
  });

  it('has limits in every isolation, with room for what Node itself takes', () => {
    for (const isolation of ['namespaces', 'unprivileged-namespaces', 'account'] as const) {
      expect(commandOf(isolation, '20.19.0')).toContain(
        'prlimit --core=0 --cpu=35 --fsize=1048576 --nofile=256 --data=373293056 --',
      );
      expect(commandOf(isolation, '24.9.0')).toContain(`--data=${String((100 + 256 + 512) * 2 ** 20)} --`);
    }
  });

  it('drops the account before Node starts, and puts a shell before it in a namespace', () => {
    const command = commandOf('namespaces', '20.19.0');
    expect(command).toMatch(
      /^\S*setpriv --pdeathsig KILL -- \S*unshare --net --pid --ipc --fork --kill-child -- \/bin\/sh -c /,
    );
    expect(command).toMatch(
      /setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs .* --pdeathsig KILL -- \/opt\/node /,
    );
  });

  it('has an environment without anything of the host', () => {
    expect(Object.keys(CHILD_ENVIRONMENT).filter((name) => name !== 'SystemRoot')).toEqual(['TZ', 'LANG']);
  });
});
