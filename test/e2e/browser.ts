import { BROWSERS } from '#local/desktop/programs';
import { findProgram } from '#local/desktop/installation';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';

/** Debian's Chromium, or what stands in for it. As root it starts only without a sandbox of its own. */
export async function startChromium(): Promise<Browser> {
  const executablePath = findProgram(BROWSERS);
  if (executablePath === null) throw new Error(`no browser: none of ${BROWSERS.join(', ')} is on PATH`);
  return await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    timeout: 60_000,
  });
}

/** A page and all it said or asked for. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Console lines, errors and dialogs. */
  readonly said: string[];
  /** URLs but for the page's own and those that hold their content. */
  readonly asked: string[];
}

/** Opens a file in a profile of its own. */
export async function openFile(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const said: string[] = [];
  const asked: string[] = [];
  page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => said.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    said.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (request.url() !== url && !request.url().startsWith('data:')) asked.push(request.url());
  });
  await page.goto(url, { waitUntil: 'load' });
  return { page, context, said, asked };
}
