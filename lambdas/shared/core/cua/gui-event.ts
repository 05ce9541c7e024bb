/** Environment variable of an agent's job on a desktop: the file to which the bridge adds one line for each GUI call. */
export const GUI_EVENTS_VARIABLE = 'EXAMHALL_GUI_EVENTS';

/** Name of that file in the agent's work folder, and of its checked copy in the run folder. */
export const GUI_EVENTS_FILE = 'gui_events.jsonl';

export interface GuiPoint {
  readonly x: number;
  readonly y: number;
}

/** One call of a GUI tool as the bridge saw it. The agent owns the file: nothing in it proves anything by itself. */
export interface GuiEvent {
  /** ISO-8601 UTC of the call's start, by the sandbox's clock. */
  readonly at: string;
  /** The tool's name as the agent called it: `click`, `type`, `screenshot`, ... */
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Points acted on, in order, in screen pixels: one for a click, start and end for a drag. */
  readonly pixels?: readonly GuiPoint[];
  /** Size of the screen that the points were worked out for, or of the screenshot that was taken. */
  readonly screen?: { readonly width: number; readonly height: number };
  readonly durationMs: number;
  readonly ok: boolean;
  /** What a call that is not ok answered. */
  readonly error?: string;
}

/** Longest line that a reader takes, in UTF-16 units without the line feed. */
export const GUI_EVENT_LINE_LIMIT = 16_384;

const MOST_TEXT = 500;
const MOST_ITEMS = 50;
const MOST_DEPTH = 3;

/** One line with its line feed, to be appended in a single write. Long texts, lists and deep values are cut. */
export function guiEventLine(event: GuiEvent): string {
  const line = JSON.stringify(boundedGuiEvent(event));
  if (line.length <= GUI_EVENT_LINE_LIMIT) return `${line}\n`;
  return `${JSON.stringify(boundedGuiEvent({ ...event, arguments: { cut: `${String(line.length)} characters` } }))}\n`;
}

/** The event with nothing in it longer or deeper than a reader needs. */
export function boundedGuiEvent(event: GuiEvent): GuiEvent {
  const { at, tool, pixels, screen, durationMs, ok, error } = event;
  return {
    at: cut(at),
    tool: cut(tool),
    arguments: boundedFields(event.arguments, MOST_DEPTH),
    ...(pixels === undefined ? {} : { pixels: pixels.slice(0, MOST_ITEMS) }),
    ...(screen === undefined ? {} : { screen }),
    durationMs,
    ok,
    ...(error === undefined ? {} : { error: cut(error) }),
  };
}

function boundedFields(fields: Readonly<Record<string, unknown>>, depth: number): Readonly<Record<string, unknown>> {
  const entries = Object.entries(fields).slice(0, MOST_ITEMS);
  return Object.fromEntries(entries.map(([name, value]) => [cut(name), bounded(value, depth - 1)]));
}

function bounded(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth <= 0) return '[cut]';
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map((item) => bounded(item, depth - 1));
  return boundedFields({ ...value }, depth);
}

function cut(text: string): string {
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}[cut]`;
}
