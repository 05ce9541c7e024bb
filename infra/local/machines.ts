import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { REPOSITORY } from '../bundler.ts';
import { BUCKET_PLACEHOLDER, placeholders, spliceUnit, substitute } from '#core/splice';

async function readMachine(name: string): Promise<Readonly<Record<string, unknown>>> {
  const file = path.join(REPOSITORY, 'state-machines', `${name}.asl.json`);
  return JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, unknown>>;
}

/** `PlanSweep` -> `plan-sweep`: a state and its function share one name. */
export function functionNameOf(state: string): string {
  return state.replace(/(?<=[a-z])([A-Z])/gu, '-$1').toLowerCase();
}

/** The machines as this host runs them: unit spliced into sweep, placeholders replaced by function and bucket names. */
export async function loadMachines(): Promise<Readonly<Record<'sweep' | 'unit' | 'grade', unknown>>> {
  const [sweep, unit, grade] = await Promise.all([readMachine('sweep'), readMachine('unit'), readMachine('grade')]);
  const prepare = (definition: Readonly<Record<string, unknown>>): unknown => {
    const names = placeholders(definition);
    const values: Record<string, string> = {};
    for (const name of names) values[name] = name === BUCKET_PLACEHOLDER ? 'artifacts' : functionNameOf(name);
    return substitute(definition, values);
  };
  return { sweep: prepare(spliceUnit(sweep, unit)), unit: prepare(unit), grade: prepare(grade) };
}
