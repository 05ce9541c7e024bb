import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StopReport } from '#contracts/guest';
import { powerShellArgv, type Printed } from './windows.ts';
import { endAccountScript, lookAtAccountScript, parseAccountLook } from './windows-account.ts';

/** Runs a script on Windows as whoever runs this. Never throws: what could not be started has printed nothing. */
type RunPowerShell = (script: string) => Promise<Printed>;

interface EndAccountOptions {
  /** No round begins after so long. */
  readonly limitSeconds: number;
  readonly pauseSeconds: number;
  readonly run: RunPowerShell;
}

/** Looks in a row that must find nothing: something may be born behind the first one's back. */
const QUIET_LOOKS = 2;
const NAMED_SURVIVORS = 20;
/** One script; a whole machine is listed in a few seconds. */
const SCRIPT_SECONDS = 20;
const OUTPUT_LIMIT_CHARACTERS = 4 * 1024 * 1024;

const DEFAULTS: EndAccountOptions = { limitSeconds: 45, pauseSeconds: 0.5, run: runPowerShell };

/**
 * Ends all of a local account of Windows, again and again until two looks in a row see nothing of it: no process, no scheduled
 * task, and no way to log on. To be run as SYSTEM, whose looks nobody below an administrator can deceive.
 * @throws Error when nobody could look in the end, and nothing had been seen before; then nothing is known.
 */
export async function endAccount(account: string, options: Partial<EndAccountOptions> = {}): Promise<StopReport> {
  const { limitSeconds, pauseSeconds, run } = { ...DEFAULTS, ...options };
  const until = Date.now() + limitSeconds * 1000;
  let seen: readonly string[] = [];
  for (let quiet = 0; ;) {
    await run(endAccountScript(account));
    const look = await lookAt(account, run);
    if ('left' in look) seen = look.left;
    quiet = 'left' in look && look.left.length === 0 ? quiet + 1 : 0;
    if (quiet >= QUIET_LOOKS) return { confirmedDead: true, survivors: 0 };
    if (Date.now() >= until) {
      if ('failure' in look && seen.length === 0) throw look.failure;
      // One quiet look alone is none to believe.
      const left = seen.length > 0 ? seen : ['something that was seen the look before'];
      return { confirmedDead: false, survivors: left.length, left: left.slice(0, NAMED_SURVIVORS) };
    }
    await sleep(pauseSeconds * 1000);
  }
}

async function lookAt(
  account: string,
  run: RunPowerShell,
): Promise<{ readonly left: readonly string[] } | { readonly failure: unknown }> {
  try {
    return { left: parseAccountLook(await run(lookAtAccountScript(account))) };
  } catch (failure) {
    return { failure };
  }
}

async function runPowerShell(script: string): Promise<Printed> {
  const [program = '', ...args] = powerShellArgv();
  const child = spawn(program, args, { stdio: 'pipe', windowsHide: true, timeout: SCRIPT_SECONDS * 1000 });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      if (printed[name].length < OUTPUT_LIMIT_CHARACTERS) printed[name] += text;
    });
  child.stdin.on('error', () => undefined).end(script);
  const status = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code));
  });
  return { status, ...printed };
}
