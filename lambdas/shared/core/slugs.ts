/** What names a run: the agent's id, its model, the task's path, the variant's index and the start time. */
export interface RunIdentity {
  readonly agentId: string;
  readonly model: string | null;
  readonly taskPath: string;
  readonly variant: number;
  /** UTC `YYYYMMDD_HHMMSS`. */
  readonly timestamp: string;
}

/** Folder of an agent: lower case, `_` for everything else; `unknown` when nothing is left. */
export function agentSlug(agentId: string): string {
  return (
    trim(
      agentId
        .toLowerCase()
        .replaceAll('-', '_')
        .replace(/[^a-z0-9_]+/g, '_'),
      '_',
    ) || 'unknown'
  );
}

/** Folder of a model: lower case, `-` for everything else; `unknown-model` when nothing is left. */
export function modelSlug(model: string | null): string {
  const dashed = (model ?? '').toLowerCase().replace(/[._/]/g, '-');
  return trim(dashed.replace(/[^a-z0-9-]+/g, '-'), '-') || 'unknown-model';
}

/** Folder of a task: `<domain>__<task>`, in its own letters. */
export function taskSlug(taskPath: string): string {
  return trim(taskPath, '/').replaceAll('/', '__');
}

/** `agent__model__task__v0__20260102_030405` */
export function runId({ agentId, model, taskPath, variant, timestamp }: RunIdentity): string {
  return [agentSlug(agentId), modelSlug(model), taskSlug(taskPath), `v${variant}`, timestamp].join('__');
}

function trim(text: string, edge: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === edge) start += 1;
  while (end > start && text[end - 1] === edge) end -= 1;
  return text.slice(start, end);
}
