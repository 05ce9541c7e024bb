import { createHash } from 'node:crypto';
import * as z from 'zod';
import { statementsOf, type Statement } from './iam-evaluator.ts';
import { ACCOUNT, REGION } from './resolve-statements.ts';
import type { BuiltApp } from '../../infra/stacks/build-app.ts';

const ResourceSchema = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  Metadata: z.record(z.string(), z.unknown()).default({}),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});
const TemplateSchema = z.object({
  Resources: z.record(z.string(), ResourceSchema),
  Parameters: z.record(z.string(), z.object({ Type: z.string() })).default({}),
  Outputs: z
    .record(z.string(), z.object({ Value: z.unknown(), Export: z.object({ Name: z.string() }).optional() }))
    .default({}),
});
type Template = z.infer<typeof TemplateSchema>;

/** A resource as it stands once it is deployed: references are the names they lead to. */
export interface DeployedResource {
  readonly stack: string;
  readonly id: string;
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly deletionPolicy: string | undefined;
  readonly updateReplacePolicy: string | undefined;
}

/** `ExamHall-default-pipeline` -> `pipeline`. */
const partOf = (stackName: string): string => stackName.split('-').at(-1) ?? stackName;
/** `ArtifactsA1B2C3D4` -> `Artifacts`. */
const plain = (logicalId: string): string => logicalId.replace(/[0-9A-F]{8}$/u, '').replace(/Machine$/u, '');

const arn = (service: string, rest: string): string => `arn:aws:${service}:${REGION}:${ACCOUNT}:${rest}`;

/** Names and ARNs by type; any other attribute stands for itself. */
const NAMED: Readonly<Record<string, (name: string) => Readonly<Record<string, string>>>> = {
  'AWS::Lambda::Function': (name) => ({ Ref: name, Arn: arn('lambda', `function:${name}`) }),
  'AWS::Lambda::Version': (name) => ({ Ref: arn('lambda', `function:${name}:1`), Version: '1' }),
  'AWS::Lambda::Alias': (name) => ({ Ref: arn('lambda', `function:${name}:live`) }),
  'AWS::S3::Bucket': (name) => ({ Ref: name.toLowerCase(), Arn: `arn:aws:s3:::${name.toLowerCase()}` }),
  'AWS::KMS::Key': (name) => ({ Ref: name, Arn: arn('kms', `key/${name}`) }),
  'AWS::DynamoDB::Table': (name) => ({ Ref: name, Arn: arn('dynamodb', `table/${name}`) }),
  'AWS::StepFunctions::StateMachine': (name) => ({ Name: name, Arn: arn('states', `stateMachine:${name}`) }),
  'AWS::StepFunctions::StateMachineVersion': (name) => ({ Arn: arn('states', `stateMachine:${name}:1`) }),
  'AWS::StepFunctions::StateMachineAlias': (name) => ({ Arn: arn('states', `stateMachine:${name}:live`) }),
  'AWS::IAM::Role': (name) => ({ Ref: name, Arn: `arn:aws:iam::${ACCOUNT}:role/${name}` }),
  'AWS::IAM::ManagedPolicy': (name) => ({ Ref: `arn:aws:iam::${ACCOUNT}:policy/${name}` }),
  'AWS::IAM::InstanceProfile': (name) => ({ Ref: name, Arn: `arn:aws:iam::${ACCOUNT}:instance-profile/${name}` }),
  'AWS::EC2::LaunchTemplate': (name) => ({ Ref: name, LatestVersionNumber: '1' }),
  'AWS::EC2::SecurityGroup': (name) => ({ Ref: name, GroupId: name }),
  'AWS::EC2::Subnet': (name) => ({ Ref: name }),
  'AWS::SQS::Queue': (name) => ({ Ref: `https://sqs/${name}`, Arn: arn('sqs', name), QueueName: name }),
  'AWS::Events::EventBus': (name) => ({ Ref: name, Arn: arn('events', `event-bus/${name}`), Name: name }),
  'AWS::Scheduler::ScheduleGroup': (name) => ({ Ref: name }),
  'AWS::Logs::LogGroup': (name) => ({ Ref: name, Arn: arn('logs', `log-group:${name}:*`) }),
};

const RefSchema = z.strictObject({ Ref: z.string() });
const GetAttSchema = z.strictObject({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) });
const ImportSchema = z.strictObject({ 'Fn::ImportValue': z.string() });
const JoinSchema = z.strictObject({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) });
const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::AccountId': ACCOUNT,
  'AWS::Partition': 'aws',
  'AWS::Region': REGION,
  'AWS::URLSuffix': 'amazonaws.com',
};

/** Every stack of an app, read as CloudFormation would resolve it. */
export class Deployment {
  readonly resources: readonly DeployedResource[];
  readonly templates: ReadonlyMap<string, Template>;
  readonly texts: ReadonlyMap<string, string>;
  readonly #exports = new Map<string, { readonly stack: string; readonly value: unknown }>();

  constructor({ app }: Pick<BuiltApp, 'app'>) {
    const { stacks } = app.synth();
    this.templates = new Map(stacks.map((stack) => [partOf(stack.stackName), TemplateSchema.parse(stack.template)]));
    this.texts = new Map(stacks.map((stack) => [partOf(stack.stackName), JSON.stringify(stack.template, null, 1)]));
    for (const [stack, { Outputs }] of this.templates) {
      for (const { Value, Export } of Object.values(Outputs)) {
        if (Export !== undefined) this.#exports.set(Export.Name, { stack, value: Value });
      }
    }
    this.resources = [...this.templates].flatMap(([stack, template]) => this.#resourcesOf(stack, template));
  }

  ofType(type: string, stack?: string): readonly DeployedResource[] {
    return this.resources.filter((resource) => resource.type === type && (stack ?? resource.stack) === resource.stack);
  }

  /** What a value of a stack's template stands for. */
  resolve(stack: string, value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.resolve(stack, each));
    if (typeof value !== 'object' || value === null) return value;
    const ref = RefSchema.safeParse(value);
    if (ref.success) return PSEUDO[ref.data.Ref] ?? this.#attribute(stack, ref.data.Ref, 'Ref');
    const attribute = GetAttSchema.safeParse(value);
    if (attribute.success) return this.#attribute(stack, ...attribute.data['Fn::GetAtt']);
    const join = JoinSchema.safeParse(value);
    if (join.success) {
      const [separator, parts] = join.data['Fn::Join'];
      return parts.map((part) => String(this.resolve(stack, part))).join(separator);
    }
    const imported = ImportSchema.safeParse(value);
    if (imported.success) return this.#import(imported.data['Fn::ImportValue']);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.resolve(stack, each)]));
  }

  /**
   * Statements of every policy a role has, by the role's name: those inside it, those on their own that name it, and the managed
   * ones that it names. @throws Error for a managed policy that no stack makes.
   */
  statementsOf(role: string): readonly Statement[] {
    const inline = this.ofType('AWS::IAM::Role').filter((resource) => plain(resource.id) === role);
    if (inline.length !== 1) throw new Error(`${String(inline.length)} roles are called ${role}`);
    const attached = this.ofType('AWS::IAM::Policy').filter(({ properties }) =>
      z.array(z.string()).parse(properties['Roles']).includes(role),
    );
    const Inline = z.array(z.object({ PolicyDocument: z.unknown() })).default([]);
    const documents = [
      ...inline.flatMap(({ properties }) => Inline.parse(properties['Policies']).map((each) => each.PolicyDocument)),
      ...attached.map(({ properties }) => properties['PolicyDocument']),
      ...inline.flatMap(({ properties }) => this.#managed(properties).map((each) => each.properties['PolicyDocument'])),
    ];
    const Document = z.object({ Statement: z.array(z.unknown()) });
    return documents.flatMap((document) => statementsOf(Document.parse(document).Statement.map(withoutNotAction)));
  }

  /** The managed policies that a role's properties name. */
  #managed({ ManagedPolicyArns = [] }: DeployedResource['properties']): readonly DeployedResource[] {
    return z
      .array(z.string())
      .parse(ManagedPolicyArns)
      .map((arn) => {
        const own = this.ofType('AWS::IAM::ManagedPolicy').filter(({ id }) => arn.endsWith(`:policy/${plain(id)}`));
        if (own.length === 1 && own[0] !== undefined) return own[0];
        throw new Error(`${String(own.length)} stacks make the managed policy ${arn}`);
      });
  }

  get roleNames(): readonly string[] {
    return this.ofType('AWS::IAM::Role').map(({ id }) => plain(id));
  }

  #resourcesOf(stack: string, { Resources }: Template): readonly DeployedResource[] {
    return Object.entries(Resources).map(([id, resource]) => ({
      stack,
      id,
      type: resource.Type,
      properties: z.record(z.string(), z.unknown()).parse(this.resolve(stack, resource.Properties)),
      metadata: resource.Metadata,
      deletionPolicy: resource.DeletionPolicy,
      updateReplacePolicy: resource.UpdateReplacePolicy,
    }));
  }

  #import(name: string): unknown {
    const found = this.#exports.get(name);
    if (found === undefined) throw new Error(`a stack imports ${name}, which no stack exports`);
    return this.resolve(found.stack, found.value);
  }

  #attribute(stack: string, id: string, attribute: string): string {
    const template = this.templates.get(stack);
    if (template?.Parameters[id]?.Type === 'AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>') return imageId(id);
    const resource = template?.Resources[id];
    if (resource === undefined) return `${id}.${attribute}`;
    return NAMED[resource.Type]?.(this.#nameOf(stack, id, resource))[attribute] ?? `${id}.${attribute}`;
  }

  /** Functions, their versions and aliases by the function's declared name; versions and aliases of machines by the machine's. */
  #nameOf(stack: string, id: string, resource: z.infer<typeof ResourceSchema>): string {
    const declared = resource.Metadata['examhall:function'];
    if (typeof declared === 'string') return declared;
    if (resource.Type === 'AWS::Lambda::Version' || resource.Type === 'AWS::Lambda::Alias') {
      return String(this.resolve(stack, resource.Properties['FunctionName']));
    }
    const machine = /^(\w+)Machine(?:Live|Version)[0-9A-F]{8}$/u.exec(id)?.[1];
    return machine ?? plain(id);
  }
}

/** Looked up when a stack is deployed; each parameter has its own. */
function imageId(parameter: string): string {
  return `ami-${createHash('sha256').update(parameter).digest('hex').slice(0, 17)}`;
}

/** The evaluator knows no `NotAction`; such a statement is only ever a denial here, which it reads as one of everything. */
function withoutNotAction(statement: unknown): unknown {
  const { NotAction, ...rest } = z.record(z.string(), z.unknown()).parse(statement);
  if (NotAction === undefined) return rest;
  if (rest['Effect'] !== 'Deny') throw new Error('a statement allows all but some actions');
  return { ...rest, Action: '*' };
}
