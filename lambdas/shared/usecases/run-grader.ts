import type { RunGraderPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { runGraderFrom } from './steps/grader-run.ts';

/** Grades in mode `light`: parsing only, no rights, no way to the sandbox. */
export async function runGrader(payload: RunGraderPayload, ports: Pick<Ports, 'modules' | 'workspace'>): Promise<void> {
  await runGraderFrom(ports, payload);
}
