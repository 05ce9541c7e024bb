import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { findDesktop } from '#local/desktop/installation';
import { displayOf } from '#local/sandboxes/desktop-start';
import { SandboxFolder } from '#local/sandboxes/sandbox-folder';
import { tier } from '#test/runner/tier';
import { guestRunner, livingPidsOf } from '#test/unit/guest/guest-kit';
import { DesktopKit, remainsOf } from './desktop-kit.ts';

vi.setConfig({ testTimeout: 240_000 });

const DOOMED = path.join(import.meta.dirname, 'doomed-desktop.ts');

/** Starts a desktop in a host of its own, kills that, and returns the folder it leaves. */
async function killedHost(walls: string, when: string): Promise<string> {
  const args = ['--import', 'tsx', DOOMED, walls, when];
  const host = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(host.stdout, 'data')) as [Buffer];
  host.kill('SIGKILL');
  await once(host, 'exit');
  return line.toString().trim();
}

/** True for a socket that nobody listens at. */
async function isDeadSocket(file: string): Promise<boolean> {
  const socket = connect(file);
  const ended = once(socket, 'connect').then(() => '');
  const code = await ended.catch((error: unknown) => (error as NodeJS.ErrnoException).code);
  socket.destroy();
  return code === 'ECONNREFUSED';
}

/** Uid of the one sandbox in a folder; null where it has none. */
function uidIn(desktops: string): number | null {
  const [id = ''] = readdirSync(desktops);
  return (JSON.parse(readFileSync(path.join(desktops, id, 'sandbox.json'), 'utf8')) as { uid: number | null }).uid;
}

async function leavesNothing(walls: string, when: string): Promise<void> {
  const root = await killedHost(walls, when);
  const desktops = path.join(root, 'desktops');
  expect(remainsOf(root), 'the supervisor outlives its host').not.toEqual([]);
  const uid = uidIn(desktops);
  const folder = new SandboxFolder(desktops, readdirSync(desktops)[0] ?? '');
  const display = await displayOf(folder, await guestRunner());
  const kit = await DesktopKit.open({ root: desktops });
  const { sandboxes } = await kit.provider.list();
  expect(sandboxes).toMatchObject([{ attemptId: 'doomed.1', state: when === 'halfway' ? 'pending' : 'ready' }]);
  for (const { sandboxId } of sandboxes) {
    const report = await kit.provider.release({ sandboxId, resources: [] }, 'delete');
    expect(report).not.toEqual([]);
    expect(report.filter(({ fate }) => fate !== 'gone')).toEqual([]);
  }
  if (uid !== null) expect(livingPidsOf(uid)).toEqual([]);
  expect(readdirSync(desktops)).toEqual([]);
  expect(remainsOf(root)).toEqual([]);
  if (walls === 'none' && display !== null) {
    // Another desktop of this computer may have taken the display meanwhile.
    expect(await isDeadSocket(`/tmp/.X11-unix/X${display.slice(1)}`)).toBe(false);
  }
  await kit.remove();
  rmSync(root, { recursive: true });
}

tier('desktop')('a host that was killed with a desktop', () => {
  describe('without walls', () => {
    it.each(['there', 'halfway'])('leaves what a new one finds and ends (%s)', (when) => leavesNothing('none', when));
  });
  tier('isolation')('of somebody who is not root', () => {
    it('says why it did not start, and leaves nothing', async () => {
      const uid = 60_000 + (process.pid % 5000);
      const scratch = mkdtempSync(path.join(os.tmpdir(), 'examhall-unprivileged-'));
      chownSync(scratch, uid, uid);
      const { isThere, ...rest } = findDesktop();
      const found = {
        isThere,
        installation: { ...('installation' in rest ? rest.installation : {}), python: '/bin/cat' },
      };
      const dropped = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', 'env', `TMPDIR=${scratch}`];
      const program = [process.execPath, '--import', 'tsx', DOOMED, 'walls', 'there', JSON.stringify(found)];
      const host = spawnSync('setpriv', [...dropped, ...program], { encoding: 'utf8', timeout: 120_000 });
      expect(host.stderr).toMatch(/ProvisionFailedError[^]*job desktop ended with exit code 1[^]*invalid option/u);
      const kits = readdirSync(scratch).filter((name) => name.startsWith('examhall-desktop-'));
      expect(kits).toHaveLength(1);
      expect(readdirSync(path.join(scratch, kits[0] ?? '', 'desktops'))).toEqual([]);
      expect(livingPidsOf(uid)).toEqual([]);
      rmSync(scratch, { recursive: true });
    });
  });
  tier('isolation')('with namespaces', () => {
    it.each(['there', 'halfway'])('leaves no process, mount, network or name (%s)', (when) =>
      leavesNothing('walls', when),
    );
  });
});
