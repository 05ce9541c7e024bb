import type { TrajectoryDraft, TrajectoryStep, ParseContext } from '#sdk';

/** One line of `transcript.jsonl`: a shell call, written as soon as it has ended. */
export interface TranscriptLine {
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

const TRANSCRIPT = 'transcript.jsonl';

/** Steps of an agent that keeps a transcript; lines that are not whole are counted and skipped. */
export async function parseTranscript({ originLog }: ParseContext): Promise<TrajectoryDraft> {
  if (!(await originLog.exists(TRANSCRIPT))) return { steps: [] };
  const lines = (await originLog.readText(TRANSCRIPT)).split('\n').filter((line) => line.trim() !== '');
  const calls = lines.map(readLine);
  const steps = calls.filter((call) => call !== null).map(stepOf);
  const unreadable = calls.length - steps.length;
  return unreadable === 0 ? { steps } : { steps, extra: { unreadable_transcript_lines: unreadable } };
}

function stepOf(call: TranscriptLine): TrajectoryStep {
  const isError = call.exitCode !== 0;
  const parts = [call.stdout, call.stderr, isError ? `exit code ${call.exitCode ?? 'none'}` : ''];
  return {
    timestamp: call.startedAt,
    source: 'agent',
    ...(call.note === null ? {} : { message: call.note }),
    tool_calls: [{ tool_call_id: call.id, function_name: 'shell', arguments: { command: call.command } }],
    observation: {
      results: [
        {
          source_call_id: call.id,
          content: parts.filter((part) => part !== '').join('\n'),
          ...(isError ? { is_error: true } : {}),
        },
      ],
    },
    metrics: { duration_ms: call.durationMs },
  };
}

function readLine(line: string): TranscriptLine | null {
  try {
    const value: unknown = JSON.parse(line);
    return isTranscriptLine(value) ? value : null;
  } catch {
    return null;
  }
}

function isTranscriptLine(value: unknown): value is TranscriptLine {
  if (typeof value !== 'object' || value === null) return false;
  const line = value as Partial<Record<keyof TranscriptLine, unknown>>;
  const texts = [line.id, line.startedAt, line.command, line.stdout, line.stderr];
  return (
    texts.every((text) => typeof text === 'string') &&
    (line.note === null || typeof line.note === 'string') &&
    (line.exitCode === null || typeof line.exitCode === 'number') &&
    typeof line.durationMs === 'number'
  );
}
