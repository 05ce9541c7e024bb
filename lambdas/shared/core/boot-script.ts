import type { BootFacts } from './boot-facts.ts';
import { linuxBootScript } from './boot-script-linux.ts';
import { windowsBootScript } from './boot-script-windows.ts';

/** What a machine is told at its first boot. Nothing of it is secret: an agent may read its machine's user data. */
export interface BootRequest {
  readonly os: 'linux' | 'windows';
  /** `bare`: everything is brought and installed. `prepared`: it is there, and is only set up for this attempt. */
  readonly kind: 'bare' | 'prepared';
  readonly privilege: 'upstream' | 'restricted';
  /** ISO-8601 UTC. Five minutes later the machine ends itself, whatever else is alive. */
  readonly expiresAt: string;
  /** `<width>x<height>`; null takes 1920x1080. */
  readonly resolution: string | null;
  /** The boot archive. A bare machine needs it; a prepared one takes runner and bridge from it when it is given. */
  readonly archive: { readonly url: string; readonly sha256: string } | null;
}

/** The limit of EC2, before base64. */
const USER_DATA_BYTES = 16_384;
const GRACE_MILLISECONDS = 5 * 60_000;
/** `<width>x<height>` of a screen that nobody gives a size. */
export const DEFAULT_RESOLUTION = '1920x1080';

/** Where the recipe puts things in the guest, in the style of its system. */
export const GUEST_PATHS = {
  linux: {
    runner: '/opt/examhall/runner.mjs',
    runnerNode: '/opt/examhall/node/bin/node',
    bridge: '/opt/examhall/cua-desktop.mjs',
    jobsDir: '/var/lib/examhall/jobs',
    keyFile: '/var/lib/examhall/key',
    verify: '/opt/examhall/linux/verify.sh',
  },
  windows: {
    runner: 'C:\\examhall\\runner.mjs',
    runnerNode: 'C:\\examhall\\node\\node.exe',
    bridge: 'C:\\examhall\\cua-desktop.mjs',
    jobsDir: 'C:\\ProgramData\\ExamHall\\jobs',
    keyFile: 'C:\\ProgramData\\ExamHall\\key',
    verify: 'C:\\examhall\\windows\\verify.ps1',
  },
} as const;

/** The agent's account in every image; the recipe gives it this uid, also where an account of that name was there before. */
export const AGENT_ACCOUNTS = {
  linux: { name: 'user', uid: 1100, gid: 1100, home: '/home/user' },
  windows: { name: 'User', uid: null, gid: null, home: 'C:\\Users\\User' },
} as const;

/**
 * User data for one machine, as EC2 runs it once, not yet base64.
 * @throws RangeError for a value that is not of its form, or a text over EC2's limit.
 */
export function bootScript(request: BootRequest): string {
  const facts = factsOf(request);
  const text = request.os === 'windows' ? windowsBootScript(facts) : linuxBootScript(facts);
  const bytes = new TextEncoder().encode(text).length;
  if (bytes >= USER_DATA_BYTES)
    throw new RangeError(`the user data has ${bytes} bytes; EC2 takes fewer than ${USER_DATA_BYTES}: shorten the URL`);
  return text;
}

function factsOf({ kind, privilege, expiresAt, resolution, archive }: BootRequest): BootFacts {
  const screen = resolution ?? DEFAULT_RESOLUTION;
  if (!/^[1-9]\d{1,4}x[1-9]\d{1,4}$/.test(screen)) throw wrong('resolution', screen, '<width>x<height> in pixels');
  const at = Date.parse(expiresAt);
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/.test(expiresAt) || Number.isNaN(at))
    throw wrong('expiresAt', expiresAt, 'an ISO-8601 time in UTC');
  if (archive !== null && !/^https?:\/\/[!#-;=?-~]+$/.test(archive.url))
    throw wrong('archive.url', archive.url, 'an http or https URL of printable ASCII without double quotes, < and >');
  if (archive !== null && !/^[0-9a-f]{64}$/.test(archive.sha256))
    throw wrong('archive.sha256', archive.sha256, '64 lower-case hexadecimal digits');
  if (kind === 'bare' && archive === null)
    throw wrong('archive', 'null', 'the boot archive: a bare machine has nothing');
  return {
    isBare: kind === 'bare',
    privilege,
    resolution: screen,
    expiresAt,
    endsAt: new Date(at + GRACE_MILLISECONDS),
    archive,
  };
}

function wrong(what: string, seen: string, allowed: string): RangeError {
  return new RangeError(`${what} of a boot script is ${JSON.stringify(seen)}; it must be ${allowed}`);
}
