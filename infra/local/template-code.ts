import path from 'node:path';
import * as z from 'zod';
import { FUNCTIONS } from '#contracts/functions';
import type { Machine } from '#contracts/triggers';
import { substitute } from '#core/splice';
import type { HostCode } from './host-code.ts';

/** Account and region of AWS's documentation: templates name none. */
const FUNCTION_ARN = 'arn:aws:lambda:us-east-1:111122223333:function';
const FUNCTION_METADATA = 'examhall:function';
const BUCKET_VARIABLES: Readonly<Record<string, string>> = {
  EXAMHALL_ARTIFACTS_BUCKET: 'artifacts',
  EXAMHALL_TASKS_BUCKET: 'tasks',
  EXAMHALL_REFERENCES_BUCKET: 'references',
};

const TemplateSchema = z.looseObject({ Resources: z.record(z.string(), z.looseObject({ Type: z.string() })) });
const FunctionSchema = z.looseObject({
  Metadata: z.looseObject({ [FUNCTION_METADATA]: z.string() }),
  Properties: z.looseObject({
    Code: z.looseObject({ S3Key: z.string().regex(/^[0-9a-f]{64}\.zip$/u) }),
    Handler: z.literal('index.handler'),
    Environment: z.looseObject({ Variables: z.record(z.string(), z.unknown()) }),
  }),
});
const VersionSchema = z.looseObject({
  Properties: z.looseObject({ FunctionName: z.strictObject({ Ref: z.string() }) }),
});
const MachineSchema = z.looseObject({
  Properties: z.looseObject({
    DefinitionString: z.string(),
    DefinitionSubstitutions: z.record(z.string(), z.unknown()),
  }),
});
const DefinitionSchema = z.looseObject({ States: z.record(z.string(), z.unknown()) });

/** What the templates make, by the text that stands for it in a substitution: its intrinsic function as JSON. */
interface Deployed {
  /** ARN of a function's version, or our name of a bucket. */
  readonly values: ReadonlyMap<string, string>;
  readonly names: ReadonlyMap<string, string>;
  /** Folder in the assembly by function. */
  readonly assets: ReadonlyMap<string, string>;
}

/**
 * What a synthesised assembly deploys: handlers from its assets, and machines from its templates with what CloudFormation
 * would put for each substitution. `templates` are the parsed templates of its stacks.
 * @throws TypeError for a declared function that no template makes, and a machine that calls what none makes.
 */
export function templateCode(assembly: string, templates: readonly unknown[]): HostCode {
  const resources = templates.flatMap((template) => Object.entries(TemplateSchema.parse(template).Resources));
  const deployed = readFunctions(resources);
  const machines: Partial<Record<Machine, unknown>> = {};
  for (const { Properties } of ofType(resources, 'AWS::StepFunctions::StateMachine', MachineSchema).values()) {
    const definition = definitionOf(Properties, deployed.values);
    machines[machineOf(definition)] = definition;
  }
  for (const { name } of FUNCTIONS) known(deployed.assets, name);
  return {
    handlerFile: (name) => path.join(assembly, `asset.${known(deployed.assets, name)}`, 'index.mjs'),
    machines,
    functionNamed: (text) => deployed.names.get(text) ?? text,
  };
}

function ofType<T>(
  resources: readonly (readonly [id: string, resource: { readonly Type: string }])[],
  type: string,
  schema: z.ZodType<T>,
): ReadonlyMap<string, T> {
  const found = resources.filter(([, resource]) => resource.Type === type);
  return new Map(found.map(([id, resource]) => [id, schema.parse(resource)]));
}

function readFunctions(resources: Parameters<typeof ofType>[0]): Deployed {
  const functions = ofType(resources, 'AWS::Lambda::Function', FunctionSchema);
  const values = new Map<string, string>();
  const names = new Map<string, string>();
  const assets = new Map<string, string>();
  for (const { Metadata, Properties } of functions.values()) {
    assets.set(Metadata[FUNCTION_METADATA], Properties.Code.S3Key.replace(/\.zip$/u, ''));
    for (const [variable, value] of Object.entries(Properties.Environment.Variables)) {
      const bucket = BUCKET_VARIABLES[variable];
      if (bucket !== undefined) values.set(JSON.stringify(value), bucket);
    }
  }
  for (const [id, { Properties }] of ofType(resources, 'AWS::Lambda::Version', VersionSchema)) {
    const { Ref: functionId } = Properties.FunctionName;
    const arn = `${FUNCTION_ARN}:${functionId}:1`;
    values.set(JSON.stringify({ Ref: id }), arn);
    names.set(arn, known(functions, functionId).Metadata[FUNCTION_METADATA]);
  }
  return { values, names, assets };
}

function definitionOf(
  { DefinitionString, DefinitionSubstitutions }: z.infer<typeof MachineSchema>['Properties'],
  values: ReadonlyMap<string, string>,
): z.infer<typeof DefinitionSchema> {
  const substitutions = Object.entries(DefinitionSubstitutions).map(([name, value]) => {
    return [name, known(values, JSON.stringify(value))] as const;
  });
  return DefinitionSchema.parse(substitute(JSON.parse(DefinitionString), Object.fromEntries(substitutions)));
}

/** A machine is told by its own states, each of which is declared with the machine it belongs to. */
function machineOf({ States: states }: z.infer<typeof DefinitionSchema>): Machine {
  for (const { trigger } of FUNCTIONS) {
    if (trigger.kind === 'state' && Object.hasOwn(states, trigger.state)) return trigger.machine;
  }
  throw new TypeError(`a machine with the states ${Object.keys(states).join(', ')} is none of ours`);
}

function known<V>(map: ReadonlyMap<string, V>, key: string): V {
  const value = map.get(key);
  if (value !== undefined) return value;
  throw new TypeError(`no template makes ${key}; they make ${[...map.keys()].join(', ')}`);
}
