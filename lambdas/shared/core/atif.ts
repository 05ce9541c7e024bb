/** The agent trajectory interchange format, version 1.8, as far as we write it. */
export const ATIF_VERSION = 'ATIF-v1.8';

export interface AtifContentPart {
  readonly type: 'text' | 'image';
  readonly text?: string;
  readonly source?: { readonly media_type: string; readonly path: string };
}

export type AtifContent = string | readonly AtifContentPart[];

type Extra = Readonly<Record<string, unknown>>;

export interface AtifToolCall {
  readonly tool_call_id: string;
  readonly function_name: string;
  readonly arguments: Extra;
}

/** `source_call_id`, where present, names a tool call of the same step. */
export interface AtifResult {
  readonly source_call_id?: string;
  readonly content?: AtifContent;
  readonly extra?: Extra;
}

export interface AtifMetrics {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly cached_tokens?: number;
  readonly cost_usd?: number;
  readonly extra?: Extra;
}

/** `reasoning_content`, `tool_calls` and `metrics` belong to steps of the agent only. */
export interface AtifStep {
  readonly step_id: number;
  readonly timestamp?: string;
  readonly source: 'system' | 'user' | 'agent';
  readonly message: AtifContent;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly AtifToolCall[];
  readonly observation?: { readonly results: readonly AtifResult[] };
  readonly metrics?: AtifMetrics;
  readonly extra?: Extra;
}

export interface AtifTrajectory {
  readonly schema_version: typeof ATIF_VERSION;
  readonly session_id: string;
  readonly trajectory_id: string;
  readonly agent: {
    readonly name: string;
    readonly version: string;
    readonly model_name?: string;
    readonly extra?: Extra;
  };
  readonly steps: readonly AtifStep[];
  readonly final_metrics: {
    readonly total_prompt_tokens: number;
    readonly total_completion_tokens: number;
    readonly total_cached_tokens: number;
    readonly total_cost_usd: number;
    readonly total_steps: number;
    readonly extra: Extra;
  };
  readonly subagent_trajectories?: readonly AtifTrajectory[];
  readonly continued_trajectory_ref?: string;
  readonly extra: Extra;
}
