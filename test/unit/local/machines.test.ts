import { describe, expect, it } from 'vitest';
import { functionNamed } from '#contracts/functions';
import { placeholders } from '#core/splice';
import { BUCKET_PLACEHOLDER } from '#core/splice';
import { functionNameOf, loadMachines } from '#local/machines';
import { assembledSweep, machine, MACHINE_NAMES, readDefinition } from '#test/state-machines/definitions';

describe('the machines as this host runs them', () => {
  it('have no placeholder left, and name declared functions and the bucket', async () => {
    const machines = await loadMachines();
    expect(Object.keys(machines).toSorted()).toEqual([...MACHINE_NAMES].toSorted());
    for (const definition of Object.values(machines)) expect(placeholders(definition)).toEqual([]);
    const text = JSON.stringify(machines);
    const functions = [...text.matchAll(/"FunctionName":"([^"]+)"/gu)].flatMap(([, name]) => name ?? []);
    expect(functions.length).toBeGreaterThan(20);
    for (const name of functions) expect(functionNamed(name).name).toBe(name);
    expect(text).toContain('"Bucket":"artifacts"');
  });

  it('differ from the files in nothing else', async () => {
    const { sweep, unit } = await loadMachines();
    const names = (definition: unknown) =>
      JSON.stringify(definition).replaceAll(/"\$\{(\w+)\}"/gu, (_, name: string) =>
        JSON.stringify(name === BUCKET_PLACEHOLDER ? 'artifacts' : functionNameOf(name)),
      );
    expect(JSON.stringify(unit)).toBe(names(readDefinition('unit')));
    expect(JSON.stringify(sweep)).toBe(names(assembledSweep()));
  });

  it('hold the unit’s states inside the sweep’s map', async () => {
    const { sweep } = await loadMachines();
    const { RunUnits } = (sweep as { States: Record<string, { ItemProcessor: { StartAt: string; States: object } }> })
      .States;
    expect(RunUnits?.ItemProcessor.StartAt).toBe('OpenUnit');
    expect(Object.keys(RunUnits?.ItemProcessor.States ?? {})).toEqual(Object.keys(machine('unit').States));
  });
});

it.each([
  ['PlanSweep', 'plan-sweep'],
  ['SetUpTask', 'set-up-task'],
  ['RunSandboxGrader', 'run-sandbox-grader'],
])('state %s calls function %s', (state, name) => {
  expect(functionNameOf(state)).toBe(name);
});
