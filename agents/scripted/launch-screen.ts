import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import {
  decodePng,
  readBitmapText,
  type Raster,
  type Recording,
  type RecordingPlace,
  type RecordingStep,
  type Region,
} from '#sdk';
import { addLine, requireVariable } from '../_shared/launch.ts';
import { openBridge, type Bridge, type ToolAnswer } from '../_shared/launch-bridge.ts';
import { countShapes, findPlace, seeShapes, shapeBeside, type SeenShape } from './sight.ts';

/** Every step but shell lines. */
export type ScreenStep = Exclude<RecordingStep, { run: string }>;

const WAIT_SECONDS = 30;
const POLL_MILLISECONDS = 300;
const PICTURES = 'screens';

interface Sight {
  readonly screen: Raster;
  readonly region: Region;
}

/**
 * Plays steps on the screen through the desktop bridge. It sees screenshots and nothing else; each call that mattered goes
 * into the transcript, screenshots as files of the working folder.
 */
export class ScreenPlayer {
  readonly #fonts: NonNullable<Recording['fonts']>;
  readonly #found = new Map<string, string>();
  readonly #seen = new Map<string, readonly SeenShape[]>();
  #bridge: Bridge | undefined;
  #calls = 0;
  #note: string | null = null;

  constructor(fonts: Recording['fonts'] = {}) {
    this.#fonts = fonts;
  }

  /** @throws Error saying why the step cannot be done. */
  async play(step: ScreenStep): Promise<void> {
    this.#note = step.note ?? null;
    if ('waitFor' in step) await this.#waitFor(step.waitFor, step.timeoutSeconds);
    else if ('click' in step) await this.#click(step.click, step.clicks);
    else if ('type' in step) await this.#act('type', { text: step.type });
    else if ('key' in step) await this.#act('key', { keys: step.key });
    else if ('readText' in step) this.#found.set(step.as, await this.#readText(step.readText));
    else if ('readShapes' in step) await this.#readShapes(step);
    else if ('count' in step) this.#found.set(step.as, String(countShapes(this.#shapes(step.count.of), step.count.is)));
    else if ('beside' in step) this.#found.set(step.as, shapeBeside(this.#shapes(step.beside.of), step.beside));
    else this.#write(step);
  }

  close(): void {
    this.#bridge?.close();
  }

  async #click(place: RecordingPlace, clicks = 1): Promise<void> {
    const { screen, region } = await this.#waitFor(place);
    const middle = [(region.x + region.width / 2) / screen.width, (region.y + region.height / 2) / screen.height];
    await this.#act('click', { coordinate: middle.map((share) => Math.round(share * 1000)), clicks });
  }

  async #readText(wanted: Extract<ScreenStep, { readText: unknown }>['readText']): Promise<string> {
    const { place, ink, dot, length } = wanted;
    const glyphs = this.#fonts[wanted.font];
    if (glyphs === undefined) throw new Error(`the recording has no font ${wanted.font}`);
    let reason = '';
    const read = ({ screen, region }: Sight): string | null => {
      const reading = readBitmapText(screen, region, { ink, dot, glyphs });
      reason = reading.ok ? `it reads ${JSON.stringify(reading.text)}` : reading.reason;
      return reading.ok && reading.text.length === length ? reading.text : null;
    };
    return await this.#look(
      place,
      WAIT_SECONDS,
      read,
      () => `no text of ${length} characters could be read: ${reason}`,
    );
  }

  async #readShapes({ readShapes, as }: Extract<ScreenStep, { readShapes: unknown }>): Promise<void> {
    const { screen, region } = await this.#waitFor(readShapes.place);
    this.#seen.set(as, seeShapes(screen, region, readShapes));
  }

  #shapes(name: string): readonly SeenShape[] {
    const seen = this.#seen.get(name);
    if (seen === undefined) throw new Error(`no step before this one has read shapes as ${name}`);
    return seen;
  }

  #write({ write, text }: Extract<ScreenStep, { write: string }>): void {
    const content = text.replace(/\{\{([A-Za-z0-9]+)\}\}/gu, (_, name: string) => {
      const found = this.#found.get(name);
      if (found === undefined) throw new Error(`no step before this one has found ${name}`);
      return found;
    });
    const file = path.join(requireVariable('TASK_OUTPUT'), write);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    this.#keep('write', { file: write }, { isError: false, text: content, picture: null }, performance.now());
  }

  async #waitFor(place: RecordingPlace, seconds = WAIT_SECONDS): Promise<Sight> {
    return await this.#look(
      place,
      seconds,
      (sight) => sight,
      () => `the screen never showed ${JSON.stringify(place)}`,
    );
  }

  /** Looks again and again until `take` has what it wants of the place; the last look is kept in the transcript. */
  async #look<T>(
    place: RecordingPlace,
    seconds: number,
    take: (sight: Sight) => T | null,
    trouble: () => string,
  ): Promise<T> {
    const deadline = performance.now() + seconds * 1000;
    for (;;) {
      const start = performance.now();
      const answer = await this.#ask('screenshot', {});
      const screen = answer.picture === null ? null : await decodePng(Buffer.from(answer.picture, 'base64'));
      if (screen === null) throw new Error(`the screenshot is no PNG that can be read: ${answer.text}`);
      const region = findPlace(screen, place);
      const taken = region === undefined ? null : take({ screen, region });
      const isOver = performance.now() >= deadline;
      if (taken !== null || isOver) this.#keep('screenshot', {}, answer, start);
      if (taken !== null) return taken;
      if (isOver) throw new Error(`${trouble()} (looked for ${seconds} s)`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
    }
  }

  async #act(tool: string, given: Readonly<Record<string, unknown>>): Promise<void> {
    const start = performance.now();
    const answer = await this.#ask(tool, given);
    this.#keep(tool, given, answer, start);
    if (answer.isError) throw new Error(`${tool} failed: ${answer.text}`);
  }

  async #ask(tool: string, given: Readonly<Record<string, unknown>>): Promise<ToolAnswer> {
    this.#bridge ??= await openBridge('cua');
    return await this.#bridge.call(tool, given);
  }

  #keep(tool: string, given: Readonly<Record<string, unknown>>, answer: ToolAnswer, start: number): void {
    this.#calls += 1;
    let screenshot: string | null = null;
    if (answer.picture !== null) {
      screenshot = `${PICTURES}/${String(this.#calls).padStart(4, '0')}.png`;
      mkdirSync(PICTURES, { recursive: true });
      writeFileSync(screenshot, Buffer.from(answer.picture, 'base64'));
    }
    const durationMs = Math.round(performance.now() - start);
    addLine({
      id: `screen_${this.#calls}`,
      startedAt: new Date(Date.now() - durationMs).toISOString(),
      tool,
      arguments: given,
      note: this.#note,
      isError: answer.isError,
      text: answer.text,
      screenshot,
      durationMs,
    });
    this.#note = null;
  }
}
