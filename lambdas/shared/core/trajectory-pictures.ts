import type { AtifContent, AtifStep } from './atif.ts';
import { collectedName, SCREENSHOT_LIMITS } from './trajectory-images.ts';
import type { ContentPart, TrajectoryDraft } from './trajectory-types.ts';

/** Names of collected files that a draft shows, each once, in its order; no more than could be kept. */
export function referredPictures(draft: TrajectoryDraft): readonly string[] {
  const names = new Set<string>();
  for (const { message, observation } of draft.steps) {
    for (const content of [message ?? '', ...(observation?.results ?? []).map((result) => result.content)]) {
      for (const name of namesIn(content)) {
        if (names.size < SCREENSHOT_LIMITS.count) names.add(name);
      }
    }
  }
  return [...names];
}

function namesIn(content: string | readonly ContentPart[]): readonly string[] {
  if (typeof content === 'string') return [];
  return content.flatMap(({ type, source }) => {
    if (type !== 'image' || source?.path === undefined || source.base64 !== undefined) return [];
    return collectedName(source.path) ?? [];
  });
}

/** A picture of a trajectory and the step that shows it first. */
export interface ShownPicture {
  readonly path: string;
  readonly stepId: number;
  /** The step's first call; null for a step without one. */
  readonly tool: string | null;
}

/** The pictures of a trajectory, each once, in the order of its steps. */
export function shownPictures(steps: readonly AtifStep[]): readonly ShownPicture[] {
  const shown = new Map<string, ShownPicture>();
  for (const step of steps) {
    for (const path of pathsIn(step)) {
      if (shown.has(path)) continue;
      shown.set(path, { path, stepId: step.step_id, tool: step.tool_calls?.[0]?.function_name ?? null });
    }
  }
  return [...shown.values()];
}

function pathsIn({ message, observation, extra }: AtifStep): readonly string[] {
  const contents: readonly AtifContent[] = [
    message,
    ...(observation?.results ?? []).map((result) => result.content ?? ''),
  ];
  const paths = contents.flatMap((content) =>
    typeof content === 'string' ? [] : content.flatMap((part) => part.source?.path ?? []),
  );
  const own = extra?.['screenshot_path'];
  return typeof own === 'string' ? [...paths, own] : paths;
}
