import validateAsl from 'asl-validator';
import { describe, expect, it } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import { functionNameOf } from '#local/machines';
import { Deployment } from './deployment.ts';
import {
  deployedDefinition,
  deployedStates,
  deployedSweep,
  isCallback,
  isTask,
  mapOf,
  unitNamed,
} from './deployed-machines.ts';
import { assembledSweep, readDefinition } from '../state-machines/definitions.ts';
import { appForTests } from './synth.ts';

const deployment = new Deployment(appForTests());
const states = deployedStates(deployment);

describe('the deployed machines', () => {
  const machines = deployment.ofType('AWS::StepFunctions::StateMachine');

  it('are two, of the standard kind, with their definitions in the template', () => {
    expect(machines.map(({ id }) => id.replace(/[0-9A-F]{8}$/u, '')).toSorted()).toEqual([
      'GradeMachine',
      'SweepMachine',
    ]);
    for (const { properties } of machines) {
      expect(properties).toMatchObject({
        StateMachineType: 'STANDARD',
        TracingConfiguration: { Enabled: true },
        LoggingConfiguration: { Level: 'ALL', IncludeExecutionData: false },
      });
      expect(Object.keys(properties)).toContain('DefinitionString');
    }
  });

  it.each(['sweep', 'grade'] as const)('%s is valid once its substitutions are made', (name) => {
    const { isValid, errors } = validateAsl(deployedDefinition(deployment, name));
    expect(errors).toEqual([]);
    expect(isValid).toBe(true);
  });

  it('are the files of the repository, the unit spliced into the sweep, with nothing changed but placeholders', () => {
    const shape = (definition: unknown): string =>
      JSON.stringify(definition).replace(/"(?:arn:aws:lambda|\$\{)[^"]*"/gu, '"function"');
    const files = { sweep: assembledSweep(), grade: readDefinition('grade') };
    for (const name of ['sweep', 'grade'] as const) {
      const deployed = shape(deployedDefinition(deployment, name)).replaceAll(
        '"Bucket":"artifacts"',
        '"Bucket":"function"',
      );
      expect(deployed).toBe(shape(files[name]));
    }
  });

  it('call versions of their functions, each its own', () => {
    const called = states.filter(isTask).map(({ name, state }) => [name, state.Arguments?.['FunctionName']]);
    expect(called.length).toBe(FUNCTIONS.filter(({ trigger }) => trigger.kind === 'state').length);
    for (const [name, functionName] of called) {
      expect(functionName).toBe(`arn:aws:lambda:eu-central-1:111122223333:function:${functionNameOf(String(name))}:1`);
    }
  });

  it('are published as versions that stay, and started by an alias that goes to the newest', () => {
    const versions = deployment.ofType('AWS::StepFunctions::StateMachineVersion');
    const aliases = deployment.ofType('AWS::StepFunctions::StateMachineAlias');
    expect([versions.length, aliases.length]).toEqual([2, 2]);
    for (const { deletionPolicy, updateReplacePolicy } of versions) {
      expect([deletionPolicy, updateReplacePolicy]).toEqual(['Retain', 'Retain']);
    }
    for (const { properties } of aliases) {
      expect(properties).toMatchObject({ Name: 'live', DeploymentPreference: { Type: 'ALL_AT_ONCE' } });
    }
  });

  it('may invoke every version of the functions they call, and no other function', () => {
    const invoked = (role: string): readonly string[] =>
      deployment
        .statementsOf(role)
        .filter(({ Action }) => Action.includes('lambda:InvokeFunction'))
        .flatMap(({ Resource }) => Resource.map((arn) => /:function:([a-z-]+):\*$/u.exec(arn)?.[1] ?? arn));
    const called = (machines: readonly string[]): readonly string[] =>
      FUNCTIONS.flatMap(({ name, trigger }) =>
        trigger.kind === 'state' && machines.includes(trigger.machine) ? [name] : [],
      );
    expect(invoked('SweepMachineRole').toSorted()).toEqual(called(['sweep', 'unit']).toSorted());
    expect(invoked('GradeMachineRole').toSorted()).toEqual(called(['grade']).toSorted());
  });

  it('run a sweep through the embedded interpreter as they are', async () => {
    const harness = deployedSweep(deployment, [unitNamed('u1'), unitNamed('u2')]);
    const handle = await harness.run('sweep');
    expect(handle.status).toBe('SUCCEEDED');
    expect(harness.callsOf('close-unit').map(({ payload }) => payload['unitId'])).toEqual(['u1', 'u2']);
    expect(mapOf(deployedDefinition(deployment, 'sweep')).ResultWriter.Arguments['Bucket']).toBe('artifacts');
  });
});

describe('every callback of the deployed machines', () => {
  const callbacks = states.filter(isCallback);
  /** These wait for a decision or a machine of ours, not for work that something could beat for. */
  const UNBEATEN = ['AdmitUnit', 'GradeUnit', 'CloseUnit'];

  it('is one of seven', () => {
    expect(callbacks.map(({ name }) => name).toSorted()).toEqual([
      'AdmitUnit',
      'AwaitSandbox',
      'CloseUnit',
      'CollectOutput',
      'GradeUnit',
      'RunAgent',
      'StageUnit',
    ]);
  });

  it.each(callbacks)(
    '$name has a timeout, and a heartbeat where work of a sandbox is waited for',
    ({ name, state }) => {
      expect(state.TimeoutSeconds).toBeDefined();
      expect(state.HeartbeatSeconds).toBe(UNBEATEN.includes(name) ? undefined : 300);
    },
  );
});
