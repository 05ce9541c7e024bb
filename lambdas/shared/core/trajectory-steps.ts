import type { AtifContent, AtifMetrics, AtifResult, AtifStep, AtifToolCall } from './atif.ts';
import type { ScreenshotCollector } from './trajectory-images.ts';
import type { ObservationResult, StepMetrics, TrajectoryStep } from './trajectory-types.ts';

/** A step while results still move between steps. */
interface OpenStep {
  readonly source: AtifStep['source'];
  readonly timestamp: string | undefined;
  readonly reasoning: string | undefined;
  readonly toolCalls: readonly AtifToolCall[];
  readonly metrics: AtifMetrics | undefined;
  readonly extra: Record<string, unknown>;
  message: AtifContent;
  results: AtifResult[];
}

/**
 * Steps as ATIF has them: the environment speaks as `system`; each result stands at the step that made the call, wherever it
 * was logged; one without a known call becomes text of its own step; emptied steps go; steps are numbered from 1.
 */
export function toAtifSteps(steps: readonly TrajectoryStep[], images: ScreenshotCollector): readonly AtifStep[] {
  const open = steps.map((step) => openStep(step, images));
  reattachResults(open);
  return open.filter((step) => !isEmpty(step)).map((step, index) => closedStep(step, index + 1));
}

function openStep(step: TrajectoryStep, images: ScreenshotCollector): OpenStep {
  const isAgent = step.source === 'agent';
  const metrics = metricsOf(step.metrics);
  const { _screenshot_b64: inline, ...extra } = step.extra ?? {};
  const open: OpenStep = {
    source: step.source === 'environment' ? 'system' : step.source,
    timestamp: step.timestamp,
    reasoning: isAgent ? step.reasoning_content : undefined,
    toolCalls: isAgent ? (step.tool_calls ?? []).map(toolCallOf) : [],
    metrics: isAgent ? metrics : undefined,
    extra: { ...extra },
    message: images.content(step.message ?? ''),
    results: (step.observation?.results ?? []).map((result) => resultOf(result, images)),
  };
  if (!isAgent) keepAgentOnlyFields(step, open.extra, metrics);
  if (step.observation?.error !== undefined) open.extra['observation_error'] = step.observation.error;
  const kept = typeof inline === 'string' ? images.keep(inline) : null;
  if (kept !== null) open.extra['screenshot_path'] = kept.path;
  return open;
}

/** ATIF allows these on steps of the agent only; elsewhere they stay readable as extra. */
function keepAgentOnlyFields(
  step: TrajectoryStep,
  extra: Record<string, unknown>,
  metrics: AtifMetrics | undefined,
): void {
  if (metrics !== undefined) extra['metrics'] = metrics;
  if (step.reasoning_content !== undefined) extra['reasoning_content'] = step.reasoning_content;
  if (step.tool_calls !== undefined && step.tool_calls.length > 0)
    extra['tool_calls'] = step.tool_calls.map(toolCallOf);
}

function toolCallOf(call: AtifToolCall): AtifToolCall {
  return { tool_call_id: call.tool_call_id, function_name: call.function_name, arguments: call.arguments };
}

function resultOf(result: ObservationResult, images: ScreenshotCollector): AtifResult {
  return {
    ...(result.source_call_id === undefined ? {} : { source_call_id: result.source_call_id }),
    content: images.content(result.content),
    ...(result.is_error === true ? { extra: { is_error: true } } : {}),
  };
}

function metricsOf(metrics: StepMetrics | undefined): AtifMetrics | undefined {
  if (metrics === undefined) return undefined;
  const { cache_creation_tokens, duration_ms, prompt_tokens, completion_tokens, cached_tokens, cost_usd } = metrics;
  const extra = defined({ cache_creation_tokens, duration_ms });
  const known = defined({ prompt_tokens, completion_tokens, cached_tokens, cost_usd });
  const all = { ...known, ...(Object.keys(extra).length === 0 ? {} : { extra }) };
  return Object.keys(all).length === 0 ? undefined : all;
}

function defined(fields: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}

function reattachResults(steps: readonly OpenStep[]): void {
  const makers = new Map<string, number[]>();
  steps.forEach((step, index) => {
    for (const call of step.toolCalls) makers.set(call.tool_call_id, [...(makers.get(call.tool_call_id) ?? []), index]);
  });
  const moved: { readonly to: OpenStep; readonly result: AtifResult }[] = [];
  steps.forEach((step, index) => {
    const orphans: AtifResult[] = [];
    step.results = step.results.filter((result) => {
      const callId = result.source_call_id;
      if (callId === undefined) return true;
      const maker = makerOf(makers.get(callId) ?? [], index);
      if (maker === index) return true;
      const to = maker === undefined ? undefined : steps[maker];
      if (to === undefined) orphans.push(result);
      else moved.push({ to, result });
      return false;
    });
    if (orphans.length > 0) step.message = withOrphans(step.message, orphans);
  });
  for (const { to, result } of moved) to.results.push(result);
}

/** Ids repeat in some logs: the nearest call before the result made it, else the first after. */
function makerOf(makers: readonly number[], at: number): number | undefined {
  return makers.findLast((index) => index <= at) ?? makers[0];
}

function withOrphans(message: AtifContent, orphans: readonly AtifResult[]): AtifContent {
  const text = orphans
    .map((orphan) =>
      `[orphaned observation for ${orphan.source_call_id ?? ''}] ${plainText(orphan.content ?? '')}`.trim(),
    )
    .join('\n');
  if (typeof message === 'string') return message === '' ? text : `${text}\n${message}`;
  return [{ type: 'text', text }, ...message];
}

function plainText(content: AtifContent): string {
  if (typeof content === 'string') return content;
  return content
    .map((part) => (part.type === 'text' ? (part.text ?? '') : `[image: ${part.source?.path ?? ''}]`))
    .join(' ');
}

function isEmpty(step: OpenStep): boolean {
  return (
    step.message.length === 0 &&
    step.reasoning === undefined &&
    step.toolCalls.length === 0 &&
    step.results.length === 0 &&
    step.metrics === undefined &&
    Object.keys(step.extra).length === 0
  );
}

function closedStep(step: OpenStep, stepId: number): AtifStep {
  return {
    step_id: stepId,
    ...(step.timestamp === undefined ? {} : { timestamp: step.timestamp }),
    source: step.source,
    message: step.message,
    ...(step.reasoning === undefined ? {} : { reasoning_content: step.reasoning }),
    ...(step.toolCalls.length === 0 ? {} : { tool_calls: step.toolCalls }),
    ...(step.results.length === 0 ? {} : { observation: { results: step.results } }),
    ...(step.metrics === undefined ? {} : { metrics: step.metrics }),
    ...(Object.keys(step.extra).length === 0 ? {} : { extra: step.extra }),
  };
}
