import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import { placeholders } from '#core/splice';
import { loadMachines } from '#local/machines';
import { templateCode } from '#local/template-code';
import { assembledSweep, readDefinition } from '#test/state-machines/definitions';

type Resources = Record<string, Record<string, unknown>>;

const BUCKET = { 'Fn::ImportValue': 'data:artifacts' };
const idOf = (name: string): string => name.replaceAll('-', '');
const hashOf = (name: string): string => createHash('sha256').update(name).digest('hex');

function functionResources(): Resources {
  const resources: Resources = {};
  for (const { name } of FUNCTIONS) {
    resources[idOf(name)] = {
      Type: 'AWS::Lambda::Function',
      Metadata: { 'examhall:function': name },
      Properties: {
        Code: { S3Bucket: 'assets', S3Key: `${hashOf(name)}.zip` },
        Handler: 'index.handler',
        Environment: { Variables: name === 'plan-sweep' ? { EXAMHALL_ARTIFACTS_BUCKET: BUCKET } : {} },
      },
    };
    resources[`${idOf(name)}Version`] = {
      Type: 'AWS::Lambda::Version',
      Properties: { FunctionName: { Ref: idOf(name) } },
    };
  }
  return resources;
}

function machineResource(definition: unknown): Resources[string] {
  const functions = FUNCTIONS.flatMap(({ name, trigger }) => (trigger.kind === 'state' ? [[trigger.state, name]] : []));
  const refs = new Map(functions.map(([state = '', name = '']) => [state, { Ref: `${idOf(name)}Version` }]));
  const values = placeholders(definition).map((name) => [name, name === 'ArtifactsBucket' ? BUCKET : refs.get(name)]);
  return {
    Type: 'AWS::StepFunctions::StateMachine',
    Properties: {
      DefinitionString: JSON.stringify(definition),
      DefinitionSubstitutions: Object.fromEntries(values) as Record<string, unknown>,
    },
  };
}

const machines = (): Resources => ({
  Sweep: machineResource(assembledSweep()),
  Grade: machineResource(readDefinition('grade')),
});
const code = (...stacks: readonly Resources[]) =>
  templateCode(
    '/assembly',
    stacks.map((resources) => ({ Resources: resources })),
  );

describe('the code of synthesised templates', () => {
  it('has each handler where its asset lies', () => {
    const { handlerFile } = code(functionResources(), machines());
    expect(handlerFile('plan-sweep')).toBe(`/assembly/asset.${hashOf('plan-sweep')}/index.mjs`);
    expect(new Set(FUNCTIONS.map(({ name }) => handlerFile(name))).size).toBe(FUNCTIONS.length);
  });

  it('has the machines of this repository, but that they call versions by their ARNs', async () => {
    const { machines: found, functionNamed } = code({ ...functionResources(), ...machines() });
    expect(Object.keys(found).toSorted()).toEqual(['grade', 'sweep']);
    const arns = /"arn:aws:lambda:us-east-1:111122223333:function:\w+:1"/gu;
    const named = JSON.stringify(found).replaceAll(arns, (arn) =>
      JSON.stringify(functionNamed(JSON.parse(arn) as string)),
    );
    const { sweep, grade } = await loadMachines();
    expect(JSON.parse(named)).toEqual({ sweep, grade });
    expect(JSON.stringify(found).match(arns)?.length).toBeGreaterThan(15);
    expect(JSON.stringify(found)).not.toContain('"FunctionName":"plan-sweep"');
  });
});

describe('templates are refused', () => {
  it('without a function that is declared', () => {
    const { collectoutput, ...resources } = functionResources();
    expect(collectoutput).toBeDefined();
    delete resources['collectoutputVersion'];
    expect(() => code(resources)).toThrow(/no template makes collect-output/u);
  });

  it('whose machine calls what none of them makes', () => {
    const { Sweep = {}, Grade } = machines();
    const { DefinitionSubstitutions, ...others } = Sweep['Properties'] as Record<string, object>;
    const elsewhere = { ...DefinitionSubstitutions, PlanSweep: { Ref: 'Elsewhere' } };
    const broken = { ...Sweep, Properties: { ...others, DefinitionSubstitutions: elsewhere } };
    expect(() => code(functionResources(), { Sweep: broken, ...(Grade === undefined ? {} : { Grade }) })).toThrow(
      /no template makes \{"Ref":"Elsewhere"\}/u,
    );
  });

  it('whose machine is none of ours', () => {
    const foreign = { Machine: machineResource({ StartAt: 'A', States: { A: { Type: 'Succeed' } } }) };
    expect(() => code(functionResources(), foreign)).toThrow(/states A is none of ours/u);
  });
});
