import * as z from 'zod';
import { boundedGuiEvent, GUI_EVENT_LINE_LIMIT, type GuiEvent } from './cua/gui-event.ts';

/** How much of a file that its agent could write at will is read. */
export const GUI_EVENT_LIMITS = { bytes: 16 * 1024 * 1024, lines: 100_000, events: 20_000 } as const;

/** What became of the lines of an agent's GUI events. */
export interface GuiEventCounts {
  readonly kept: number;
  /** Of the kept ones: those that claim a time outside the agent phase, or before the line above. */
  readonly implausibleTimes: number;
  /** Of the kept ones: calls that the bridge answered with an error. */
  readonly failed: number;
  /** Not JSON, not an event, or too long. */
  readonly malformed: number;
  /** True when the file goes on after what was read. */
  readonly truncated: boolean;
}

export interface GuiEventsRead {
  /** The text of the run folder's `gui_events.jsonl`; each line says who reported it. */
  readonly text: string;
  readonly counts: GuiEventCounts;
}

const EventSchema = z.object({
  at: z.iso.datetime(),
  tool: z.string().min(1).max(200),
  arguments: z.record(z.string(), z.unknown()),
  pixels: z.array(z.object({ x: z.number(), y: z.number() })).exactOptional(),
  screen: z.object({ width: z.number(), height: z.number() }).exactOptional(),
  durationMs: z.number().nonnegative(),
  ok: z.boolean(),
  error: z.string().exactOptional(),
}) satisfies z.ZodType<GuiEvent>;

/** Clocks of a sandbox and its host differ; more than this is no accident. */
const CLOCK_SKEW_MS = 120_000;

/**
 * Reads what an agent's side says of its GUI calls. Nothing is believed: each kept line is numbered, marked as reported by
 * the agent, and says whether its time can be true.
 */
export function readGuiEvents(
  text: string,
  phase: { readonly startedAt: string; readonly endedAt: string },
  isCutOff: boolean,
): GuiEventsRead {
  const kept: string[] = [];
  const counts = { implausibleTimes: 0, failed: 0, malformed: 0 };
  let truncated = isCutOff;
  let last = Date.parse(phase.startedAt) - CLOCK_SKEW_MS;
  const latest = Date.parse(phase.endedAt) + CLOCK_SKEW_MS;
  for (const line of linesOf(text, isCutOff)) {
    if (kept.length === GUI_EVENT_LIMITS.events || kept.length + counts.malformed === GUI_EVENT_LIMITS.lines) {
      truncated = true;
      break;
    }
    const event = eventOf(line);
    if (event === null) {
      counts.malformed += 1;
      continue;
    }
    const at = Date.parse(event.at);
    const isPlausible = at >= last && at <= latest;
    if (isPlausible) last = at;
    else counts.implausibleTimes += 1;
    if (!event.ok) counts.failed += 1;
    const marks = { seq: kept.length + 1, reportedBy: 'agent', timeIsPlausible: isPlausible };
    kept.push(`${JSON.stringify({ ...marks, ...boundedGuiEvent(event) })}\n`);
  }
  return { text: kept.join(''), counts: { kept: kept.length, ...counts, truncated } };
}

/** Lines that are not blank; the last one of a text that was cut off is nobody's. */
function* linesOf(text: string, isCutOff: boolean): Generator<string> {
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from);
    if (end === -1 && isCutOff) return;
    const line = text.slice(from, end === -1 ? text.length : end);
    if (line.trim() !== '') yield line;
    if (end === -1) return;
    from = end + 1;
  }
}

function eventOf(line: string): GuiEvent | null {
  if (line.length > GUI_EVENT_LINE_LIMIT) return null;
  try {
    const parsed = EventSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
