/** A program that a desktop runs, and the Debian package it comes in. */
export interface NeededProgram {
  readonly program: string;
  readonly package: string;
}

const PROGRAMS: readonly NeededProgram[] = [
  { program: 'Xvfb', package: 'xvfb' },
  { program: 'xkbcomp', package: 'x11-xkb-utils' },
  { program: 'openbox', package: 'openbox' },
  { program: 'xdotool', package: 'xdotool' },
  { program: 'xclip', package: 'xclip' },
  // The server's window commands end it when xset or xrandr is missing.
  { program: 'xset', package: 'x11-xserver-utils' },
  { program: 'xrandr', package: 'x11-xserver-utils' },
  { program: 'xsetroot', package: 'x11-xserver-utils' },
];

/** For a network namespace and the way into it. */
const PROGRAMS_OF_ROOT: readonly NeededProgram[] = [
  { program: 'unshare', package: 'util-linux' },
  { program: 'nsenter', package: 'util-linux' },
  { program: 'ip', package: 'iproute2' },
  { program: 'socat', package: 'socat' },
];

/** Files rather than programs: without a font nothing on the screen can be read. */
export const FONT = { file: '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf', package: 'fonts-dejavu-core' } as const;

/** Any of these will do. */
export const BROWSERS: readonly string[] = ['chromium', 'google-chrome', 'google-chrome-stable', 'microsoft-edge'];
export const BROWSER_PACKAGE = 'chromium';

export function programsNeeded(isRoot: boolean = process.getuid?.() === 0): readonly NeededProgram[] {
  return isRoot ? [...PROGRAMS, ...PROGRAMS_OF_ROOT] : PROGRAMS;
}
