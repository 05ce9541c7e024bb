import * as z from 'zod';

const ResourceSchema = z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).optional() });
const TemplateSchema = z.looseObject({ Resources: z.record(z.string(), ResourceSchema) });
type Template = z.infer<typeof TemplateSchema>;
type TemplateResource = z.infer<typeof ResourceSchema>;

/** Types that moto's CloudFormation makes nothing of, while it says that it did. */
export const SKIPPED_TYPES: readonly string[] = [
  'AWS::ApiGateway::Account',
  'AWS::ApiGateway::GatewayResponse',
  'AWS::ApiGateway::Model',
  'AWS::ApiGateway::RequestValidator',
  'AWS::ApiGateway::Stage',
  'AWS::CloudWatch::Alarm',
  'AWS::EC2::SecurityGroupEgress',
  'AWS::Lambda::Alias',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Logs::MetricFilter',
  'AWS::Logs::QueryDefinition',
  'AWS::S3::BucketPolicy',
  'AWS::SNS::Subscription',
  'AWS::SNS::TopicPolicy',
  'AWS::SQS::QueuePolicy',
  'AWS::Scheduler::ScheduleGroup',
  'AWS::StepFunctions::StateMachineAlias',
  'AWS::StepFunctions::StateMachineVersion',
];

/** Properties on which moto fails, by type. */
const REMOVED_PROPERTIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'AWS::KMS::Key': { Tags: 'it reads them by other names' },
  'AWS::SSM::Parameter': { Tags: 'it takes a list for the map that CloudFormation has here' },
};

const isOnOwnBus = ({ Type, Properties }: TemplateResource): boolean =>
  Type === 'AWS::Events::Rule' && Properties?.['EventBusName'] !== undefined;

export interface Filtered {
  readonly template: Template;
  /** What was taken out, each with the reason. */
  readonly removed: readonly string[];
}

/** A template without what moto's CloudFormation fails on; references to what it skips are made up. */
export function filteredForMoto(template: unknown): Filtered {
  const parsed = TemplateSchema.parse(template);
  const kept = Object.entries(parsed.Resources).filter(([, resource]) => !isOnOwnBus(resource));
  const rules = Object.entries(parsed.Resources).filter(([, resource]) => isOnOwnBus(resource));
  const lost = kept.flatMap(([id, { Type, Properties = {} }]) =>
    Object.entries(REMOVED_PROPERTIES[Type] ?? {}).flatMap(([name, why]) =>
      name in Properties ? [`${name} of ${id} (${Type}): ${why}`] : [],
    ),
  );
  const without = { ...parsed, Resources: Object.fromEntries(kept.map(([id, one]) => [id, withoutProperties(one)])) };
  return {
    template: TemplateSchema.parse(withoutReferences(without, parsed)),
    removed: [...rules.map(([id, { Type }]) => `${id} (${Type}): a rule on a bus of its own crashes it`), ...lost],
  };
}

function withoutProperties(resource: TemplateResource): TemplateResource {
  const removed = Object.keys(REMOVED_PROPERTIES[resource.Type] ?? {});
  const left = Object.entries(resource.Properties ?? {}).filter(([name]) => !removed.includes(name));
  return { ...resource, Properties: Object.fromEntries(left) };
}

const GetAttSchema = z.strictObject({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) });
const RefSchema = z.strictObject({ Ref: z.string() });

/** What a reference becomes: made up where nothing is there, and under the name by which moto has it. */
function rewritten(value: unknown, { Resources }: Template): unknown {
  const [id, attribute] = GetAttSchema.safeParse(value).data?.['Fn::GetAtt'] ?? [];
  const name = id ?? RefSchema.safeParse(value).data?.Ref;
  const resource = name === undefined ? undefined : Resources[name];
  if (name === undefined || resource === undefined) return name === undefined ? undefined : value;
  if (SKIPPED_TYPES.includes(resource.Type) || isOnOwnBus(resource)) {
    const called = RefSchema.safeParse(resource.Properties?.['FunctionName']).data?.Ref;
    return called === undefined ? `arn:aws:none:us-east-1:123456789012:${name}` : { 'Fn::GetAtt': [called, 'Arn'] };
  }
  return resource.Type === 'AWS::StepFunctions::StateMachine' && attribute === 'Arn' ? { Ref: name } : value;
}

function withoutReferences(value: unknown, template: Template): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutReferences(each, template));
  if (typeof value !== 'object' || value === null) return value;
  const reference = rewritten(value, template);
  if (reference !== undefined) return reference;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]: [string, unknown]) => {
      if (key !== 'DependsOn') return [[key, withoutReferences(each, template)]];
      const others = z
        .union([z.string().transform((one) => [one]), z.array(z.string())])
        .parse(each)
        .filter((id) => {
          const resource = template.Resources[id];
          return resource !== undefined && !SKIPPED_TYPES.includes(resource.Type) && !isOnOwnBus(resource);
        });
      return others.length === 0 ? [] : [[key, others]];
    }),
  );
}
