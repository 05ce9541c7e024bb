/** Names below a run folder `<agent>/<model>/<task>/v<i>/<stamp>`, as upstream has them; the last ones are ours. */
export const RUN_FILES = {
  events: 'events.jsonl',
  run: 'run.json',
  evalResult: 'eval_result.json',
  trajectory: 'trajectory.json',
  screenshots: 'screenshots',
  originLog: 'origin_log',
  output: 'output',
  record: 'record.json',
  /** Amounts of the cost parts, where they are not in the record. */
  cost: 'cost.json',
  /** What the agent's side says of its GUI calls. */
  guiEvents: 'gui_events.jsonl',
  /** The screen when the agent's phase had ended, as we saw it. */
  finalScreenshot: 'screenshots/final.png',
  /** What a machine showed of itself that never became ready. */
  bootConsole: 'boot/console.txt',
  bootScreenshot: 'boot/screenshot.jpg',
} as const;

/** Upstream's event types, in the order a run without faults meets them; the last row is how runs go wrong. */
export const RUN_EVENT_TYPES = [
  'run_started',
  'provision_wait',
  'task_revision',
  'provision_started',
  'provision_done',
  'agent_run_started',
  'incremental_pull_started',
  'agent_stopped',
  'agent_stop_failed',
  'agent_finished',
  'post_launch_fanout_started',
  'origin_log_gather_done',
  'origin_log_gather_failed',
  'output_gather_done',
  'output_gather_skipped',
  'output_gather_failed',
  'reference_stage_completed',
  'reference_stage_skipped',
  'screenshots_persisted',
  'run_completed',
  'run_failed',
  'run_cancelled',
  'incremental_pull_final_failed',
] as const;
/** Our own, beside upstream's. */
export const OWN_EVENT_TYPES = ['final_screenshot_failed', 'gui_events_persisted'] as const;

export type RunEventType = (typeof RUN_EVENT_TYPES)[number] | (typeof OWN_EVENT_TYPES)[number];

export interface RunEvent {
  /** ISO-8601 UTC; written to the second. */
  readonly at: string;
  readonly type: RunEventType;
  readonly runId: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** One line of `events.jsonl`, without its line feed; empty data is left out. */
export function eventLine({ at, type, runId, data }: RunEvent): string {
  const hasData = data !== undefined && Object.keys(data).length > 0;
  return JSON.stringify({ ts: toSeconds(at), type, run_id: runId, ...(hasData ? { data } : {}) });
}

/** `2026-01-02T03:04:05.678Z` -> `2026-01-02T03:04:05Z`. @throws TypeError for anything but ISO-8601 UTC. */
export function toSeconds(iso: string): string {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z$/u.exec(iso);
  if (match?.[1] === undefined)
    throw new TypeError(`not a UTC time: ${JSON.stringify(iso)}; expected 2026-01-02T03:04:05Z`);
  return `${match[1]}Z`;
}

/**
 * Name of a run folder when `taken` runs of the same second are there already: the stamp, then `_01`, `_02`, ...
 * @throws TypeError for a stamp that is not `YYYYMMDD_HHMMSS`.
 */
export function runFolderName(stamp: string, taken: number): string {
  if (!/^\d{8}_\d{6}$/u.test(stamp))
    throw new TypeError(`not a run stamp: ${JSON.stringify(stamp)}; expected YYYYMMDD_HHMMSS`);
  return taken === 0 ? stamp : `${stamp}_${String(taken).padStart(2, '0')}`;
}

/** Tells run folders from other folders below a unit's. */
export function isRunFolderName(name: string): boolean {
  return /^\d{8}_\d{6}(?:_\d{2,})?$/u.test(name);
}
