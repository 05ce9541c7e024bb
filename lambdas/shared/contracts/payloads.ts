import * as z from 'zod';
import { StateErrorSchema } from '#core/rows';

/** What crosses between states and functions: ids and small numbers only. Derived payloads extend the ones upstream of them. */

const id = z.string().min(1).max(512);

export const SweepPayload = z.strictObject({ sweepId: id, run: z.int().positive() });
export type SweepPayload = z.infer<typeof SweepPayload>;

/** One line of the plan: all that the unit's machine needs to know. */
export const UnitPlanItem = z.strictObject({
  sweepId: id,
  run: z.int().positive(),
  unitId: id,
  firstAttempt: z.int().positive(),
  gradesOnOwnSandbox: z.boolean(),
  admitSeconds: z.int().positive(),
  awaitSeconds: z.int().positive(),
  stageSeconds: z.int().positive(),
  runSeconds: z.int().positive(),
  collectSeconds: z.int().positive(),
  gradeSeconds: z.int().positive(),
});
export type UnitPlanItem = z.infer<typeof UnitPlanItem>;

/** PlanSweep's answer. */
export interface SweepPlan {
  readonly unitsToRun: number;
  readonly planKey: string;
  readonly maxConcurrency: number;
}

export const AdmitPayload = z.strictObject({
  sweepId: id,
  run: z.int().positive(),
  unitId: id,
  attempt: z.int().positive(),
  token: z.string().min(1),
});
export type AdmitPayload = z.infer<typeof AdmitPayload>;

export const AttemptPayload = z.strictObject({ sweepId: id, unitId: id, attemptId: id });
export type AttemptPayload = z.infer<typeof AttemptPayload>;

export const TokenPayload = AttemptPayload.extend({ token: z.string().min(1), timeoutSeconds: z.int().positive() });
export type TokenPayload = z.infer<typeof TokenPayload>;

export const FinishPayload = AttemptPayload.extend({ error: StateErrorSchema.nullable() });
export type FinishPayload = z.infer<typeof FinishPayload>;

/** CloseAttempt's answer: `retry` sends the unit back to AdmitUnit with `nextAttempt`. */
export interface CloseAttemptResult {
  readonly retry: boolean;
  readonly nextAttempt: number;
}

export const CloseUnitPayload = z.strictObject({
  sweepId: id,
  run: z.int().positive(),
  unitId: id,
  token: z.string().min(1),
  /** Why the last admission was refused; null after an attempt. */
  error: StateErrorSchema.nullable(),
});
export type CloseUnitPayload = z.infer<typeof CloseUnitPayload>;

export const GradePayload = z.strictObject({
  sweepId: id,
  unitId: id,
  attemptId: id,
  gradeId: id,
  gradeNumber: z.int().positive(),
  mode: z.enum(['light', 'same-sandbox']),
  timeoutSeconds: z.int().positive(),
});
export type GradePayload = z.infer<typeof GradePayload>;

/** What RunGrader gets: signed URLs only, since it holds no rights. */
export const RunGraderPayload = z.strictObject({
  gradeId: id,
  timeoutSeconds: z.int().positive(),
  stageUrl: z.string().min(1),
});
export type RunGraderPayload = z.infer<typeof RunGraderPayload>;

export const RunSandboxGraderPayload = RunGraderPayload.extend({ attemptId: id, unitId: id, sweepId: id });
export type RunSandboxGraderPayload = z.infer<typeof RunSandboxGraderPayload>;

export const CommitGradePayload = GradePayload.extend({ error: StateErrorSchema.nullable() });
export type CommitGradePayload = z.infer<typeof CommitGradePayload>;

/** Event details. */
export const JobFinishedDetail = z.object({ jobId: id });
export type JobFinishedDetail = z.infer<typeof JobFinishedDetail>;

export const ExecutionStatusDetail = z.object({
  status: z.enum(['FAILED', 'TIMED_OUT', 'ABORTED']),
  executionArn: z.string(),
  name: z.string(),
  input: z.string().nullish(),
  error: z.string().nullish(),
  cause: z.string().nullish(),
});
export type ExecutionStatusDetail = z.infer<typeof ExecutionStatusDetail>;

export const ExpirePayload = z.object({ attemptId: id });
export type ExpirePayload = z.infer<typeof ExpirePayload>;

export const TickPayload = z.object({}).loose();
export type TickPayload = z.infer<typeof TickPayload>;

/** Of `COMMAND_STATUS_TYPE`; the keys are the cloud's. */
export const CommandStatusDetail = z.object({
  'command-id': id,
  'instance-id': z.string(),
  'document-name': z.string(),
  /** When the command was sent. */
  'requested-date-time': z.string().optional(),
  status: z.string(),
});
export type CommandStatusDetail = z.infer<typeof CommandStatusDetail>;

/** What tells that a guest's job may have ended: our own event, or the end of a command that waits for it. */
export const RunFinishedDetail = z.union([JobFinishedDetail, CommandStatusDetail]);
export type RunFinishedDetail = z.infer<typeof RunFinishedDetail>;

/** A batch for the cua-server of one sandbox. */
export const CallGuestPayload = z.strictObject({
  /** `http://<address>:<port>` inside the network. */
  url: z.url({ protocol: /^http$/u }),
  calls: z
    .array(z.strictObject({ command: z.string().min(1), params: z.record(z.string(), z.unknown()) }))
    .min(1)
    .max(1000),
  timeoutSeconds: z.number().positive().max(600),
});
export type CallGuestPayload = z.infer<typeof CallGuestPayload>;
