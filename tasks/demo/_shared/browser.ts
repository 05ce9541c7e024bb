import { decodePng, findRegions, shellQuote, type Raster, type Session } from '#sdk';

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-extensions',
  '--disable-sync',
  '--disable-features=Translate,MediaRouter,OptimizationHints',
  '--password-store=basic',
  '--noerrdialogs',
  '--force-device-scale-factor=1',
  '--kiosk',
];
/** Ends a line of the browser's log when the browser has ended. */
const END_MARK = 'examhall: the browser ended with';

export interface Page {
  readonly port: number;
  /** Begins the name of the folder of its profile and log. */
  readonly name: string;
  /** `#rrggbb` of the bar across the top by which the page is known on the screen. */
  readonly bar: string;
}

export interface Patience {
  readonly polls: number;
  readonly pollMilliseconds: number;
}

const PATIENCE: Patience = { polls: 120, pollMilliseconds: 500 };

/**
 * Opens a page of this computer in a browser that fills the screen, and returns once the page is really to be seen there.
 * @throws Error saying what lacks: no browser, a browser that ended, or no page on the screen in time.
 */
export async function openPage(session: Session, page: Page, patience: Patience = PATIENCE): Promise<void> {
  const browser = await findBrowser(session);
  // In the agent's home, which goes with the sandbox; its own each time, or a browser would hand the page to another.
  const made = await session.runCommand(`mktemp -d "$HOME/.${page.name}-XXXXXX"`, { check: true });
  const folder = made.stdout.trim();
  const log = `${folder}/browser.log`;
  const url = `http://127.0.0.1:${page.port}/`;
  // A shell of its own keeps the browser's words and its end where they can be looked at.
  const script = `"$@" >"$0" 2>&1 </dev/null; echo "${END_MARK} $?" >>"$0"`;
  const flags = [...FLAGS, `--user-data-dir=${folder}/profile`, url];
  await session.launch('/bin/sh', ['-c', script, log, browser, ...flags]);
  let last: Raster | null = null;
  for (let poll = 0; poll < patience.polls; poll += 1) {
    last = await decodePng(await session.screenshot());
    if (last !== null && isShown(last, page.bar)) return;
    const said = await tailOf(session, log);
    if (said.includes(END_MARK)) throw new Error(`${browser} ended before it showed ${url}: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, patience.pollMilliseconds));
  }
  const seconds = Math.round((patience.polls * patience.pollMilliseconds) / 1000);
  throw new Error(
    `${browser} did not show ${url} within ${seconds} s; ${describeScreen(last)}; its log ends: ${await tailOf(session, log)}`,
  );
}

async function findBrowser(session: Session): Promise<string> {
  const look = `for name in ${BROWSERS.map(shellQuote).join(' ')}; do command -v "$name" && exit 0; done; exit 1`;
  const { success, stdout } = await session.runCommand(look);
  const found = stdout.trim();
  if (success && found !== '') return found;
  throw new Error(`the sandbox has no browser (looked for ${BROWSERS.join(', ')}); install the package chromium in it`);
}

/** A bar across most of the screen, at its top. */
function isShown(screen: Raster, bar: string): boolean {
  const rules = { color: bar, minWidth: Math.floor(screen.width * 0.6), minHeight: 20 };
  return findRegions(screen, { ...rules, within: { x: 0, y: 0, width: screen.width, height: 200 } }).length > 0;
}

async function tailOf(session: Session, file: string): Promise<string> {
  const { stdout } = await session.runCommand(`tail -c 600 ${shellQuote(file)} 2>&1`);
  return stdout.trim();
}

function describeScreen(screen: Raster | null): string {
  if (screen === null) return 'its last screenshot is no PNG that can be read';
  const first = screen.rgb.subarray(0, 3);
  const isPlain = screen.rgb.every((value, at) => value === first[at % 3]);
  const size = `${screen.width}x${screen.height}`;
  return isPlain ? `the screen of ${size} shows one colour only` : `the screen of ${size} shows something else`;
}
