import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';

const STOP_SECONDS = 30;

/**
 * Ends what would bring processes of an account back after they were killed: the desktop's units, the account's own manager
 * and its timers. The desktop stays down: its files are the agent's, and nothing it says counts from here on. Nothing
 * happens where there is no systemd.
 */
export async function stopRevivers(uid: number): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/run/systemd/system')) return;
  const units = ['examhall-desktop.target', `user@${uid}.service`, 'cron.service', 'crond.service', 'atd.service'];
  await Promise.all(units.map(stopUnit));
}

/** A unit that is not there is stopped; one that does not stop shows in what is found alive. */
function stopUnit(unit: string): Promise<void> {
  return new Promise((resolve) => {
    execFile('systemctl', ['stop', unit], { timeout: STOP_SECONDS * 1000 }, () => resolve());
  });
}
