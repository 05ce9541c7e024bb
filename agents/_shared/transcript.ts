import type { ContentPart, ParseContext, TrajectoryDraft, TrajectoryStep } from '#sdk';

/** A shell call, as soon as it has ended. */
export interface ShellLine {
  readonly id: string;
  readonly startedAt: string;
  readonly command: string;
  readonly note: string | null;
  /** Null when a signal ended it or it could not be started. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/** A call of the desktop bridge, or of the agent's own hand. */
export interface ToolLine {
  readonly id: string;
  readonly startedAt: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly note: string | null;
  readonly isError: boolean;
  readonly text: string;
  /** Path of a PNG in the working folder. */
  readonly screenshot: string | null;
  readonly durationMs: number;
}

/** One line of `transcript.jsonl`. */
export type TranscriptLine = ShellLine | ToolLine;

const TRANSCRIPT = 'transcript.jsonl';

/** Steps of an agent that keeps a transcript; lines that are not whole are counted and skipped. */
export async function parseTranscript({ originLog }: ParseContext): Promise<TrajectoryDraft> {
  if (!(await originLog.exists(TRANSCRIPT))) return { steps: [] };
  const lines = (await originLog.readText(TRANSCRIPT)).split('\n').filter((line) => line.trim() !== '');
  const calls = lines.map(readLine);
  const steps = calls
    .filter((call) => call !== null)
    .map((call) => ('tool' in call ? toolStep(call) : shellStep(call)));
  const unreadable = calls.length - steps.length;
  return unreadable === 0 ? { steps } : { steps, extra: { unreadable_transcript_lines: unreadable } };
}

interface Call {
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly content: string | readonly ContentPart[];
  readonly isError: boolean;
}

function stepOf(line: TranscriptLine, { name, given, content, isError }: Call): TrajectoryStep {
  return {
    timestamp: line.startedAt,
    source: 'agent',
    ...(line.note === null ? {} : { message: line.note }),
    tool_calls: [{ tool_call_id: line.id, function_name: name, arguments: given }],
    observation: {
      results: [{ source_call_id: line.id, content, ...(isError ? { is_error: true } : {}) }],
    },
    metrics: { duration_ms: line.durationMs },
  };
}

function shellStep(call: ShellLine): TrajectoryStep {
  const isError = call.exitCode !== 0;
  const parts = [call.stdout, call.stderr, isError ? `exit code ${call.exitCode ?? 'none'}` : ''];
  const content = parts.filter((part) => part !== '').join('\n');
  return stepOf(call, { name: 'shell', given: { command: call.command }, content, isError });
}

function toolStep(call: ToolLine): TrajectoryStep {
  const { screenshot, text, isError } = call;
  const picture = { media_type: 'image/png', path: screenshot ?? '' };
  const shown: readonly ContentPart[] = [
    { type: 'text', text },
    { type: 'image', source: picture },
  ];
  return stepOf(call, { name: call.tool, given: call.arguments, content: screenshot === null ? text : shown, isError });
}

function readLine(line: string): TranscriptLine | null {
  try {
    const value: unknown = JSON.parse(line);
    return isShellLine(value) || isToolLine(value) ? value : null;
  } catch {
    return null;
  }
}

type Unchecked<T> = Partial<Record<keyof T, unknown>>;

function hasCommonParts(line: Unchecked<ShellLine & ToolLine>): boolean {
  const hasNote = line.note === null || typeof line.note === 'string';
  return (
    [line.id, line.startedAt].every((text) => typeof text === 'string') &&
    hasNote &&
    typeof line.durationMs === 'number'
  );
}

function isShellLine(value: unknown): value is ShellLine {
  if (typeof value !== 'object' || value === null) return false;
  const line = value as Unchecked<ShellLine>;
  const hasTexts = [line.command, line.stdout, line.stderr].every((text) => typeof text === 'string');
  return hasCommonParts(line) && hasTexts && (line.exitCode === null || typeof line.exitCode === 'number');
}

function isToolLine(value: unknown): value is ToolLine {
  if (typeof value !== 'object' || value === null) return false;
  const line = value as Unchecked<ToolLine>;
  const hasTexts = [line.tool, line.text].every((text) => typeof text === 'string');
  const hasScreenshot = line.screenshot === null || typeof line.screenshot === 'string';
  const isWhole = typeof line.isError === 'boolean' && typeof line.arguments === 'object' && line.arguments !== null;
  return hasCommonParts(line) && hasTexts && hasScreenshot && isWhole && !Array.isArray(line.arguments);
}
