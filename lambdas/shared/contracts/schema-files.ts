import * as z from 'zod';
import type { Check, VerifyOptions } from '#core/verify';
import { CostFileSchema } from './cost-schema.ts';
import { GuiEventLineSchema } from './gui-event-schema.ts';
import { RecordSchema } from './record-schema.ts';
import { EvalResultSchema, EventSchema, RunJsonSchema } from './run-schemas.ts';
import { trajectoryProblems, TrajectorySchema } from './trajectory-schema.ts';

interface SchemaFile {
  readonly title: string;
  readonly schema: z.ZodType;
}

/** The committed JSON Schemas (draft 2020-12) by file name in `schemas/`. */
export const SCHEMA_FILES: Readonly<Record<string, SchemaFile>> = {
  'run.schema.json': { title: 'run.json of one attempt', schema: RunJsonSchema },
  'eval_result.schema.json': { title: 'eval_result.json of one attempt', schema: EvalResultSchema },
  'event.schema.json': { title: 'one line of events.jsonl', schema: EventSchema },
  'gui_event.schema.json': { title: 'one line of gui_events.jsonl', schema: GuiEventLineSchema },
  'trajectory.schema.json': { title: 'trajectory.json (ATIF-v1.8)', schema: TrajectorySchema },
  'record.schema.json': { title: 'record.json of one attempt', schema: RecordSchema },
  'cost.schema.json': { title: 'cost.json of one attempt', schema: CostFileSchema },
};

/** What a schema file holds. */
export function jsonSchemaOf({ title, schema }: SchemaFile): Readonly<Record<string, unknown>> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12' });
  return { $schema, title, ...rest };
}

/** The checks that `verify` makes of the files of a run folder. */
export const RECORD_CHECKS: VerifyOptions['checks'] = {
  record: checkWith(RecordSchema),
  run: checkWith(RunJsonSchema),
  evalResult: checkWith(EvalResultSchema),
  event: checkWith(EventSchema),
  cost: checkWith(CostFileSchema),
  guiEvent: checkWith(GuiEventLineSchema),
  trajectory: (value) => {
    const parsed = TrajectorySchema.safeParse(value);
    return parsed.success ? trajectoryProblems(parsed.data) : problemsOf(parsed.error);
  },
};

function checkWith(schema: z.ZodType): Check {
  return (value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? [] : problemsOf(parsed.error);
  };
}

function problemsOf(error: z.ZodError): string[] {
  return error.issues.map((issue) => `${issue.path.map(String).join('.') || 'the whole'}: ${issue.message}`);
}
