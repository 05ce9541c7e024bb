import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FoundDesktop } from '#local/desktop/installation';
import { DesktopKit } from './desktop-kit.ts';

/**
 * A host that starts a desktop and says so on one line: when it is there, or (`halfway`) as soon as its job has begun.
 * It lives until it is killed.
 */
const [walls, when, found] = process.argv.slice(2);
const kit = await DesktopKit.open({
  ...(walls === 'walls' ? {} : { withoutWalls: 'asked for by the test' }),
  ...(found === undefined ? {} : { found: JSON.parse(found) as FoundDesktop }),
});
const acquired = kit.acquire({ attemptId: 'doomed.1' });
if (when === 'halfway') {
  acquired.catch(() => undefined);
  const desktops = path.join(kit.root, 'desktops');
  const hasBegun = (): boolean =>
    existsSync(desktops) &&
    readdirSync(desktops).some((id) => existsSync(path.join(desktops, id, 'jobs/desktop/stdout')));
  while (!hasBegun()) await sleep(2);
} else await acquired;
process.stdout.write(`${kit.root}\n`);
await sleep(300_000);
