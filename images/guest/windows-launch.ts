import type { Readable, Writable } from 'node:stream';
import type { LaunchNote } from './job-folder.ts';
import type { ProcessIdentity, ProcessTable } from './process-table.ts';
import { launchInSession, WINDOWS_SESSION, type SessionPlace } from './windows-console.ts';
import { fileTimeOf } from './windows-session-protocol.ts';

interface AccountCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdio: readonly [number | 'pipe' | 'ignore', number | 'pipe', number | 'pipe'];
}

interface AccountLaunch {
  readonly note: LaunchNote;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly ended: Promise<{ readonly exitCode: number | null; readonly signal: string | null }>;
  release(): void;
  kill(): void;
}

/** A process that no table holds: nothing is ever done to it. */
const NOBODY = { pid: 0, startedAt: '', bootId: '' };

/**
 * Starts a command as the local account whose session has the screen. The session's word for its process counts only when a process
 * of that account has the number. @throws Error when no session takes it.
 */
export async function launchAsAccount(
  { argv, env, cwd, stdio }: AccountCommand,
  accountName: string,
  table: Pick<ProcessTable, 'ofAccount' | 'identityOf'>,
  place: SessionPlace = WINDOWS_SESSION,
): Promise<AccountLaunch> {
  const since = fileTimeOf(Date.now());
  const launched = await launchInSession({ argv, env, cwd, input: stdio[0] === 'ignore' ? null : stdio[0] }, place);
  const launcher = launcherOf(launched.claimedPid, accountName, table);
  return {
    note: { launcher, namespace: null, session: { account: accountName, since } },
    stdin: launched.stdin,
    stdout: launched.stdout,
    stderr: launched.stderr,
    ended: launched.ended,
    release: () => undefined,
    kill: () => launched.hangUp(),
  };
}

/** Nobody also when the processes cannot be listed: the command runs by then, and is hunted by its account. */
function launcherOf(
  claimedPid: number,
  accountName: string,
  table: Pick<ProcessTable, 'ofAccount' | 'identityOf'>,
): ProcessIdentity {
  try {
    const isItsOwn = table.ofAccount(accountName, claimedPid).some(({ pid }) => pid === claimedPid);
    return (isItsOwn ? table.identityOf(claimedPid) : undefined) ?? NOBODY;
  } catch {
    return NOBODY;
  }
}
