import type { ApiClient, CallAnswer } from './api-client.ts';
import { LinkExpiredError, readLinkedText, type DownloadOptions } from './download.ts';
import { patiently, type Patience } from './patience.ts';
import { plainText } from './plain-text.ts';
import { RUN_FILES } from '#core/run-tree';

type Unit = CallAnswer<'getUnit'>;
type Attempt = Unit['attemptList'][number];

export interface LogDeps extends Pick<Patience, 'delay' | 'nowSeconds' | 'tell'> {
  readonly client: Pick<ApiClient, 'call'>;
  readonly download: DownloadOptions;
  /** One line of the log, whole. */
  readonly line: (text: string) => void;
  readonly everySeconds: number;
}

export interface LogWanted {
  readonly unitId: string;
  /** The newest unless told. */
  readonly attempt: number | null;
  readonly follow: boolean;
}

const MOST_BYTES = 64 * 1024 * 1024;
const FILES_A_PAGE = 200;

/** Prints the events of an attempt; following goes on over further attempts until the unit closes. False when there were none. */
export async function readUnitLog({ unitId, attempt, follow }: LogWanted, deps: LogDeps): Promise<boolean> {
  const reader = new LogReader(unitId, deps);
  for (;;) {
    const unit = await reader.unit(attempt);
    const shown = unit.attemptList.at(-1);
    // What an attempt wrote at its end comes before the first of the next one.
    const before = unit.attemptList.find(({ attemptId }) => attemptId === reader.attemptId);
    if (before !== undefined && before !== shown) await reader.read(before);
    if (shown !== undefined) await reader.read(shown);
    const isOver = unit.class !== 'open' || (attempt !== null && shown !== undefined && shown.closedAt !== null);
    if (!follow || isOver) return reader.hasLines;
    if (shown !== undefined) reader.tellStage(shown);
    await deps.delay(deps.everySeconds);
  }
}

class LogReader {
  readonly #unitId: string;
  readonly #deps: LogDeps;
  #offset = 0;
  #rest = Buffer.alloc(0);
  #told = '';
  /** Whose log was read last. */
  attemptId = '';
  hasLines = false;

  constructor(unitId: string, deps: LogDeps) {
    this.#unitId = unitId;
    this.#deps = deps;
  }

  async unit(attempt: number | null, cursor: string | null = null): Promise<Unit> {
    const query = {
      limit: FILES_A_PAGE,
      ...(attempt === null ? {} : { attempt }),
      ...(cursor === null ? {} : { cursor }),
    };
    const { client, delay, nowSeconds, tell } = this.#deps;
    const meanwhile = `${this.#unitId} goes on by itself.`;
    return await patiently(async () => await client.call('getUnit', { params: { unitId: this.#unitId }, query }), {
      tell,
      delay,
      nowSeconds,
      meanwhile,
    });
  }

  /** Reads on where it was. */
  async read(attempt: Attempt): Promise<void> {
    if (attempt.attemptId !== this.attemptId) {
      this.attemptId = attempt.attemptId;
      this.#offset = 0;
      this.#rest = Buffer.alloc(0);
    }
    const url = await this.#link(attempt);
    if (url === null) return;
    try {
      const bytes = await readLinkedText(url, this.#offset, MOST_BYTES, this.#deps.download);
      if (bytes !== null) this.#take(bytes, attempt.closedAt !== null);
    } catch (error) {
      // The next round brings a fresh link.
      if (!(error instanceof LinkExpiredError) || attempt.closedAt !== null) throw error;
    }
  }

  /** Says what an attempt is at, while it has no more to say itself. */
  tellStage({ attemptId, stage }: Attempt): void {
    const text = `${attemptId}: ${stage ?? 'no stage yet'}`;
    if (text !== this.#told) this.#deps.tell(text);
    this.#told = text;
  }

  /** Files come in the order of their paths. */
  async #link(attempt: Attempt): Promise<string | null> {
    let page: Attempt = attempt;
    for (;;) {
      const found = page.files.find(({ path }) => path === RUN_FILES.events);
      if (found !== undefined) return found.url;
      const last = page.files.at(-1);
      if (page.filesCursor === null || (last !== undefined && last.path > RUN_FILES.events)) return null;
      const number = Number(attempt.attemptId.slice(this.#unitId.length + 1));
      const next = (await this.unit(number, page.filesCursor)).attemptList.find(
        ({ attemptId }) => attemptId === attempt.attemptId,
      );
      if (next === undefined) return null;
      page = next;
    }
  }

  #take(bytes: Buffer, isLast: boolean): void {
    this.#offset += bytes.length;
    const all = Buffer.concat([this.#rest, bytes]);
    const end = isLast ? all.length : all.lastIndexOf(0x0a) + 1;
    this.#rest = all.subarray(end);
    for (const line of all.subarray(0, end).toString('utf8').split('\n')) {
      if (line.trim() === '') continue;
      this.hasLines = true;
      this.#deps.line(line);
    }
  }
}

/** A line of `events.jsonl` for a person: time, type, data. What is no event is shown as it is, made printable. */
export function eventText(line: string): string {
  const event = fieldsOf(parse(line));
  const { ts, type, data } = event;
  if (typeof ts !== 'string' || typeof type !== 'string') return plainText(line);
  const parts = Object.entries(fieldsOf(data)).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return plainText([ts, type.padEnd(26), ...parts].join('  ').trimEnd());
}

/** A line as one JSON value; what is none becomes `{"raw": ...}`. */
export function eventJson(line: string): string {
  return JSON.stringify(parse(line) ?? { raw: line });
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}
