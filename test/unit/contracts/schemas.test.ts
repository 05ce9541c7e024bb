import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import * as prettier from 'prettier';
import { describe, expect, it } from 'vitest';
import { ERROR_KINDS } from '#core/errors';
import { StageSchema } from '#contracts/record-schema';
import { jsonSchemaOf, RECORD_CHECKS, SCHEMA_FILES } from '#contracts/schema-files';
import { costFile } from '#test/builders/costs';
import { MemoryRunFolder } from '#test/builders/run-folder';

const folder = path.resolve(import.meta.dirname, '../../../lambdas/shared/contracts/schemas');
const names = Object.keys(SCHEMA_FILES);

const compiled = new Map<string, ValidateFunction>();

function validatorOf(name: string): ValidateFunction {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile(JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as object);
  compiled.set(name, validate);
  return validate;
}

const run = new MemoryRunFolder();
const parse = (text: string): unknown => JSON.parse(text);
const json = async (file: string): Promise<unknown> => parse(await run.readText(file));
const SAMPLES: Readonly<Record<string, () => Promise<unknown>>> = {
  'run.schema.json': () => json('run.json'),
  'eval_result.schema.json': () => json('eval_result.json'),
  'event.schema.json': async () => parse((await run.readText('events.jsonl')).split('\n')[1] ?? ''),
  'gui_event.schema.json': async () => parse((await run.readText('gui_events.jsonl')).split('\n')[1] ?? ''),
  'trajectory.schema.json': () => json('trajectory.json'),
  'record.schema.json': () => json('record.json'),
  'cost.schema.json': () => Promise.resolve(costFile()),
};
const ZOD_CHECKS = {
  'run.schema.json': RECORD_CHECKS.run,
  'eval_result.schema.json': RECORD_CHECKS.evalResult,
  'event.schema.json': RECORD_CHECKS.event,
  'gui_event.schema.json': RECORD_CHECKS.guiEvent,
  'trajectory.schema.json': RECORD_CHECKS.trajectory,
  'record.schema.json': RECORD_CHECKS.record,
  'cost.schema.json': RECORD_CHECKS.cost,
} as const;

/** Files whose keys are ours alone. */
const OURS = ['record.schema.json', 'gui_event.schema.json', 'cost.schema.json'];

/** Every place of a value, as a list of keys. */
function placesOf(value: unknown, at: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, item]) => placesOf(item, [...at, key]))];
}

/** A copy with the value at a place changed; `undefined` takes the key away. */
function changed(value: unknown, place: readonly string[], to: unknown): unknown {
  const [key, ...rest] = place;
  if (key === undefined) return to;
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => (String(index) === key ? changed(item, rest, to) : item));
  }
  const { [key]: before, ...others } = value as Record<string, unknown>;
  const next = changed(before, rest, to);
  return next === undefined ? others : { ...others, [key]: next };
}

describe('the committed JSON Schemas', () => {
  it('are all there, and nothing else', () => {
    expect(readdirSync(folder).sort()).toEqual([...names].sort());
    expect(names.length).toBe(7);
  });

  it.each(Object.entries(SCHEMA_FILES))(
    '%s is what its source gives (vitest -u writes it anew)',
    async (name, file) => {
      const text = await prettier.format(JSON.stringify(jsonSchemaOf(file)), { parser: 'json', printWidth: 120 });
      await expect(text).toMatchFileSnapshot(path.join(folder, name));
      expect(jsonSchemaOf(file)).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' });
    },
  );

  it.each(names)('%s takes what we write', async (name) => {
    const validate = validatorOf(name);
    expect(validate(await SAMPLES[name]?.()), JSON.stringify(validate.errors)).toBe(true);
  });

  it.each(Object.entries(ZOD_CHECKS))(
    '%s judges broken samples as its source does, and finds most',
    async (name, check) => {
      const validate = validatorOf(name);
      const sample = await SAMPLES[name]?.();
      let refused = 0;
      let tried = 0;
      for (const place of placesOf(sample)) {
        for (const to of [undefined, 'broken', -7, [], { odd: true }]) {
          if (place.length === 0 && to === undefined) continue;
          const broken = changed(sample, place, to);
          const bySchema = validate(broken);
          tried += 1;
          if (!bySchema) refused += 1;
          if (!bySchema) expect(check(broken), `${place.join('.')} -> ${JSON.stringify(to)}`).not.toEqual([]);
          else if (name !== 'trajectory.schema.json')
            expect(check(broken), `${place.join('.')} -> ${JSON.stringify(to)}`).toEqual([]);
        }
      }
      expect(tried).toBeGreaterThan(20);
      expect(refused / tried).toBeGreaterThan(0.5);
    },
  );

  it('lets upstream add keys to its files, and nobody to ours', async () => {
    for (const name of names) {
      const sample = (await SAMPLES[name]?.()) as Record<string, unknown>;
      expect(validatorOf(name)({ ...sample, added_later: 1 })).toBe(!OURS.includes(name));
    }
    const record = (await SAMPLES['record.schema.json']?.()) as { lock: object; files: object[] };
    const validate = validatorOf('record.schema.json');
    expect(validate({ ...record, lock: { ...record.lock, extra: { value: 1, sha256: null } } })).toBe(false);
    expect(validate({ ...record, files: [{ ...record.files[0], mode: 7 }] })).toBe(false);
  });

  it('know the stage of every declared error', () => {
    const stages = Object.values(ERROR_KINDS).map((kind) => kind.stage);
    expect(stages.length).toBeGreaterThan(0);
    for (const stage of stages) expect(StageSchema.options).toContain(stage);
  });
});

describe('what a JSON Schema cannot say of a trajectory', () => {
  it.each([
    ['a gap in the step numbers', ['steps', '1', 'step_id'], 7, /step_id is 7; expected 2/],
    ['a wrong total of steps', ['final_metrics', 'total_steps'], 9, /total_steps is 9/],
    ['calls of the user', ['steps', '0', 'tool_calls'], [], /only the agent/],
    ['a result without its call', ['steps', '1', 'tool_calls'], [], /no tool call of that step/],
  ])('is checked too: %s', async (_, place, to, message) => {
    const broken = changed(await json('trajectory.json'), place, to);
    expect(validatorOf('trajectory.schema.json')(broken)).toBe(true);
    expect(RECORD_CHECKS.trajectory(broken).join('\n')).toMatch(message);
  });
});
