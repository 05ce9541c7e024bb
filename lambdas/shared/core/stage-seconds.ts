/** Seconds each stage of an attempt took, by stage name; stages that never ended are left out. */
export function stageSecondsOf(times: {
  readonly stageStartedAt: Readonly<Record<string, string>>;
  readonly stageEndedAt: Readonly<Record<string, string>>;
}): Readonly<Record<string, number>> {
  const seconds: Record<string, number> = {};
  for (const [stage, startedAt] of Object.entries(times.stageStartedAt)) {
    const endedAt = times.stageEndedAt[stage];
    if (endedAt !== undefined) seconds[stage] = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  }
  return seconds;
}
