import { decodePng, findRegions, type Raster, type Region, type RegionRules } from '#sdk';

const POLLS = 100;
const POLL_MILLISECONDS = 200;
const ANSWER_MILLISECONDS = 30_000;

/** One command of the cua-server that drives this screen. @throws Error with what it said. */
async function command(
  name: string,
  params: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const server = process.env['CUA_SERVER_URL'];
  if (server === undefined) throw new Error('CUA_SERVER_URL is not set: this solution needs a sandbox with a screen');
  const answer = await fetch(`${server}/cmd`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ command: name, params }),
    signal: AbortSignal.timeout(ANSWER_MILLISECONDS),
  });
  const text = await answer.text();
  const result = JSON.parse(text.replace(/^\s*data:/u, '')) as Readonly<Record<string, unknown>>;
  if (answer.ok && result['success'] === true) return result;
  throw new Error(`${name} failed: ${text.slice(0, 300)}`);
}

export async function look(): Promise<Raster> {
  const { image_data: picture } = await command('screenshot');
  const raster = await decodePng(Buffer.from(String(picture), 'base64'));
  if (raster === null) throw new Error('the screenshot is no PNG that can be read');
  return raster;
}

/** Looks until the screen shows a region like this. @throws Error when it does not in time. */
export async function waitFor(rules: RegionRules): Promise<{ readonly screen: Raster; readonly region: Region }> {
  for (let poll = 0; poll < POLLS; poll += 1) {
    const screen = await look();
    const [region] = findRegions(screen, rules);
    if (region !== undefined) return { screen, region };
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
  }
  throw new Error(`the screen never showed ${JSON.stringify(rules)}`);
}

export async function clickOn(rules: RegionRules): Promise<void> {
  const { region } = await waitFor(rules);
  const { x, y, width, height } = region;
  await command('left_click', { x: Math.round(x + width / 2), y: Math.round(y + height / 2) });
}

export async function typeText(text: string): Promise<void> {
  await command('type_text', { text });
}
