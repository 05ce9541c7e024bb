import type { UnitSummary } from '#core/report';

/** A unit as a report tells of it, with overrides. */
export function reportUnit(unitId: string, more: Partial<UnitSummary> = {}): UnitSummary {
  const kind = more.class ?? 'scored';
  return {
    unitId,
    agentId: 'oracle',
    model: null,
    taskPath: 'demo/hello',
    variant: 0,
    trial: 1,
    class: kind,
    notRunReason: kind === 'not_run' ? 'budget' : null,
    outcome: kind === 'scored' ? 'completed' : null,
    status: kind === 'scored' ? 'completed' : 'failed',
    score: kind === 'scored' ? 1 : null,
    note: null,
    signatureId: null,
    unknownError: false,
    attempts: 1,
    durationSeconds: 12,
    stageSeconds: { provision: 2, run: 12 },
    runDir: `oracle/unknown-model/demo__hello/v0/${unitId}`,
    isolation: 'namespaces',
    network: 'own',
    costUsd: 0,
    unverified: [],
    screen: null,
    ...more,
  };
}
