import type { FileReader } from '#core/task-module';

/** Trajectory model shared by agents' parsers and the record; names as in ATIF. */
export interface ContentPart {
  readonly type: 'text' | 'image';
  readonly text?: string;
  readonly source?: { readonly media_type: string; readonly path?: string; readonly base64?: string };
}

export interface ToolCall {
  readonly tool_call_id: string;
  readonly function_name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface ObservationResult {
  readonly source_call_id?: string;
  readonly content: string | readonly ContentPart[];
  readonly is_error?: boolean;
}

export interface StepMetrics {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly cached_tokens?: number;
  readonly cache_creation_tokens?: number;
  readonly cost_usd?: number;
  readonly duration_ms?: number;
}

export interface TrajectoryStep {
  readonly timestamp?: string;
  readonly source: 'system' | 'user' | 'agent' | 'environment';
  readonly message?: string | readonly ContentPart[];
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ToolCall[];
  readonly observation?: { readonly results: readonly ObservationResult[]; readonly error?: string };
  readonly metrics?: StepMetrics;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** What a parser returns: steps after the prompt, and totals where the agent itself declares them. */
export interface TrajectoryDraft {
  readonly steps: readonly TrajectoryStep[];
  readonly finalMetrics?: Readonly<Record<string, number>>;
  readonly agentVersion?: string;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** What a `parser.ts` exports as `parse`. `originLog` is the agent's collected work folder. */
export interface ParseContext {
  readonly originLog: FileReader;
  readonly outcome: string;
  readonly startedAt: string;
}

export interface ParserModule {
  parse(context: ParseContext): TrajectoryDraft | Promise<TrajectoryDraft>;
}
