import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentAccounts, probeUid } from '#local/sandboxes/agent-accounts';
import { mountsBelow } from '#local/sandboxes/remove-folder';
import { findExposed, GUEST_NODE, visibleHostMounts } from '#local/sandboxes/visible-host';

let root: string;
beforeEach(() => (root = mkdtempSync(path.join(os.tmpdir(), 'examhall-accounts-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('uids of agents', () => {
  const lock = (name: string) => ({ sandboxId: name, folder: path.join(root, name) });

  it('are held until they are freed, by their holder only', () => {
    const accounts = new AgentAccounts(path.join(root, 'locks'));
    const first = accounts.claim(lock('a'));
    expect(accounts.claim(lock('a'))).toBe(first);
    expect(new AgentAccounts(path.join(root, 'locks')).heldBy('a', lock('a').folder)).toBe(first);
    accounts.free(first, lock('b'));
    expect(accounts.heldBy('a', lock('a').folder)).toBe(first);
    accounts.free(first, lock('a'));
    expect(accounts.heldBy('a', lock('a').folder)).toBeUndefined();
  });

  it('are all different, and never the one the probe uses', () => {
    const accounts = new AgentAccounts(path.join(root, 'locks'));
    const uids = Array.from({ length: 40 }, (_, index) => accounts.claim(lock(`s${index}`)));
    expect(new Set(uids).size).toBe(40);
    expect(uids).not.toContain(probeUid());
    expect(uids.every((uid) => uid > 60_000 && uid < 2 ** 31)).toBe(true);
  });
});

describe('when all uids are held', () => {
  it('those of sandboxes whose folder is gone are given again, and no others', () => {
    const accounts = new AgentAccounts(path.join(root, 'locks'), 3);
    const lock = (name: string) => ({ sandboxId: name, folder: path.join(root, name) });
    for (const name of ['a', 'b', 'c']) {
      mkdirSync(path.join(root, name));
      accounts.claim(lock(name));
    }
    expect(() => accounts.claim(lock('d'))).toThrow(
      expect.objectContaining({ name: 'CapacityUnavailableError' }) as Error,
    );
    const uid = accounts.heldBy('b', lock('b').folder);
    rmSync(path.join(root, 'b'), { recursive: true });
    expect(accounts.claim(lock('d'))).toBe(uid);
    expect(accounts.heldBy('b', lock('b').folder)).toBeUndefined();
  });
});

describe('what of the host an agent sees', () => {
  it('is programs, a few settings and Node, all read-only', () => {
    const mounts = visibleHostMounts();
    expect(mounts.length).toBeGreaterThan(5);
    expect(mounts.every((mount) => mount.readOnly)).toBe(true);
    const tops = new Set(mounts.map((mount) => mount.target.split('/')[1]));
    for (const hidden of ['root', 'home', 'var', 'run', 'srv', 'mnt', 'tmp', 'media'])
      expect(tops).not.toContain(hidden);
    expect(mounts.filter((mount) => mount.target.startsWith('/opt')).map((mount) => mount.target)).toEqual([
      GUEST_NODE,
    ]);
    for (const secret of ['/etc', '/etc/shadow', '/etc/sudoers', '/etc/passwd']) {
      expect(mounts.map((mount) => mount.target)).not.toContain(secret);
    }
  });

  it('never holds, nor lies in, what is to be hidden, also by way of a link', () => {
    const mount = (source: string) => ({ source, target: '/x', readOnly: true });
    mkdirSync(path.join(root, 'shown/inner'), { recursive: true });
    symlinkSync(path.join(root, 'shown'), path.join(root, 'link'));
    const shown = [mount(path.join(root, 'shown'))];
    expect(findExposed(shown, [path.join(root, 'shown/inner')])).toContain('shown/inner is to be hidden');
    expect(findExposed(shown, [root])).not.toBeNull();
    expect(findExposed(shown, [path.join(root, 'link/inner/not-there-yet')])).not.toBeNull();
    expect(findExposed([mount(path.join(root, 'link'))], [path.join(root, 'shown')])).not.toBeNull();
    expect(findExposed(shown, [path.join(root, 'shown-too'), path.join(root, 'other')])).toBeNull();
    expect(findExposed([{ ...mount('/home/me/node'), target: GUEST_NODE }], ['/home/me'])).toBeNull();
  });
});

describe('mounts below a folder', () => {
  it('are found innermost first, with blanks in their names', () => {
    const info = [
      '22 1 0:20 / /a rw - tmpfs x rw',
      '23 22 0:21 / /a/b\\040c rw - tmpfs x rw',
      '24 23 0:22 / /a/b\\040c/d rw - tmpfs x rw',
      '25 1 0:23 / /ab rw - tmpfs x rw',
    ].join('\n');
    expect(mountsBelow('/a', info)).toEqual(['/a/b c/d', '/a/b c', '/a']);
  });
});
