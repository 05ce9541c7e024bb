import * as z from 'zod';
import { substitute } from '#core/splice';
import type { AslMachine, AslState } from '../state-machines/definitions.ts';
import { example, MachineHarness, type Behaviour, type Payload } from '../state-machines/machine-harness.ts';
import type { Deployment } from './deployment.ts';

const PropertiesSchema = z.object({
  DefinitionString: z.string(),
  DefinitionSubstitutions: z.record(z.string(), z.string()),
});

/** The definition that a deployment's machine has, with its substitutions made. */
export function deployedDefinition(deployment: Deployment, name: 'sweep' | 'grade'): AslMachine {
  const [machine] = deployment
    .ofType('AWS::StepFunctions::StateMachine')
    .filter(({ id }) => id.toLowerCase().startsWith(`${name}machine`));
  const { DefinitionString, DefinitionSubstitutions } = PropertiesSchema.parse(machine?.properties);
  return substitute(JSON.parse(DefinitionString), DefinitionSubstitutions) as AslMachine;
}

interface MapState extends AslState {
  readonly ItemProcessor: AslMachine & { readonly ProcessorConfig: Readonly<Record<string, unknown>> };
  readonly MaxConcurrency: unknown;
  readonly ToleratedFailurePercentage: number;
  readonly ItemReader: { readonly Arguments: Readonly<Record<string, unknown>> };
  readonly ResultWriter: { readonly Resource: string; readonly Arguments: Readonly<Record<string, unknown>> };
}

export function mapOf({ States }: AslMachine): MapState {
  const state = States['RunUnits'];
  if (state?.Type !== 'Map') throw new Error('the deployed sweep machine has no map RunUnits');
  return state as MapState;
}

export interface NamedState {
  readonly name: string;
  readonly state: AslState;
}

/** Every state of the deployed machines, those of units included. */
export function deployedStates(deployment: Deployment): readonly NamedState[] {
  const sweep = deployedDefinition(deployment, 'sweep');
  const grade = deployedDefinition(deployment, 'grade');
  return [sweep.States, mapOf(sweep).ItemProcessor.States, grade.States].flatMap((states) =>
    Object.entries(states).map(([name, state]) => ({ name, state })),
  );
}

export const isTask = ({ state }: NamedState): boolean => state.Type === 'Task';
export const isCallback = ({ state }: NamedState): boolean => state.Resource?.endsWith('.waitForTaskToken') === true;

/** The deployed machines over functions that behave as told, with these units planned. */
export function deployedSweep(
  deployment: Deployment,
  units: readonly Payload[],
  behaviours: Readonly<Record<string, Behaviour>> = {},
): MachineHarness {
  const plan = { unitsToRun: units.length, planKey: 'sweeps/first/r1/plan.jsonl', maxConcurrency: 10 };
  const machines = { sweep: deployedDefinition(deployment, 'sweep'), grade: deployedDefinition(deployment, 'grade') };
  const harness = new MachineHarness({ 'plan-sweep': () => plan, ...behaviours }, machines);
  harness.objects.set(`artifacts/${plan.planKey}`, units.map((unit) => `${JSON.stringify(unit)}\n`).join(''));
  return harness;
}

export function unitNamed(unitId: string): Payload {
  return { ...example('unit'), unitId };
}

/** History events of each execution, by its ARN. */
export function historyLengths(harness: MachineHarness): ReadonlyMap<string, number> {
  const lengths = new Map<string, number>();
  for (const { executionArn } of harness.history) lengths.set(executionArn, (lengths.get(executionArn) ?? 0) + 1);
  return lengths;
}
