import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { exampleSettings, stageDocument, stageSettings } from '#test/builders/stage-settings';
import { parseSettings } from '../../infra/config/load-settings.ts';
import { ruleProblems } from '../../infra/config/rule-size.ts';
import type { StageSettings } from '../../infra/config/settings.ts';
import { Deployment, type DeployedResource } from './deployment.ts';
import { appForTests, scratchFolder } from './synth.ts';
import { filledAtLength, policyLetters } from './template-letters.ts';

const folder = scratchFolder();
const shipped = parseSettings(stageDocument('default'), 'default.json');
const BOUNDARY = `arn:aws:iam::111122223333:policy/${'b'.repeat(128)}`;

/** Tags as many as settings take, about as long as a deployment of many teams has them. */
const manyTags = Object.fromEntries(
  Array.from({ length: 30 }, (_, index) => [`organisation:team-tag-${String(index)}`, `value of tag ${String(index)}`]),
);
/** The most that settings may say in tags: what is refused is one more. */
function fullTags(): Readonly<Record<string, string>> {
  const tags: Record<string, string> = {};
  for (let count = 0; ruleProblems({ ...shipped, tags }).length === 0; count += 1)
    tags[`key-${String(count)}`] = 'v'.repeat(200);
  return Object.fromEntries(Object.entries(tags).slice(0, -1));
}

/** Every list of ports and addresses as long as settings may have it. */
const fullLists = (): StageSettings => {
  const settings = stageSettings({ tags: fullTags() });
  const openPorts = Array.from({ length: 20 }, (_, index) => 443 + index);
  const staticHosts = Array.from({ length: 20 }, (_, index) => `10.1.2.${String(index)}:5000`);
  return {
    ...settings,
    stage: 'a-stage-of-16-le',
    network: { ...settings.network, openPorts },
    sandboxes: { ...settings.sandboxes, staticHosts },
  };
};

const SETTINGS: Readonly<Record<string, () => StageSettings>> = {
  'default.json': () => shipped,
  'example.json': exampleSettings,
  'both network profiles': () => stageSettings({ permissionsBoundaryArn: BOUNDARY }),
  '30 tags and both network profiles': () => stageSettings({ tags: manyTags }),
  'as much in tags, ports and addresses as settings may say': fullLists,
};

/** IAM: 10,240 characters in all inline policies of a role, 6,144 in a managed one, 2,048 in a trust policy. */
const INLINE_LETTERS = 10_240;
const MANAGED_LETTERS = 6144;
const TRUST_LETTERS = 2048;
const MANAGED_PER_ROLE = 10;

const Named = z.array(z.object({ PolicyDocument: z.unknown() })).default([]);
const Texts = z.array(z.string()).default([]);

/** The resource as its template has it, with its references in place. */
function written({ templates }: Deployment, { stack, id }: DeployedResource): Readonly<Record<string, unknown>> {
  return templates.get(stack)?.Resources[id]?.Properties ?? {};
}

function inlineLetters(deployment: Deployment, role: DeployedResource): number {
  const own = Named.parse(written(deployment, role)['Policies']).map((each) => each.PolicyDocument);
  const beside = deployment
    .ofType('AWS::IAM::Policy', role.stack)
    .filter((policy) => JSON.stringify(written(deployment, policy)['Roles']).includes(`"${role.id}"`))
    .map((policy) => written(deployment, policy)['PolicyDocument']);
  return [...own, ...beside].reduce((sum: number, each) => sum + policyLetters(deployment, role.stack, each), 0);
}

describe.each(Object.entries(SETTINGS))('with %s', (name, settingsOf) => {
  const deployment = new Deployment(appForTests(settingsOf(), folder));
  const roles = deployment.ofType('AWS::IAM::Role');
  const over = (lines: readonly (readonly [string, number])[], most: number): readonly (readonly [string, number])[] =>
    lines.filter(([, count]) => count > most);

  it('every role keeps to what IAM lets it have inside', () => {
    expect(roles.length).toBeGreaterThan(20);
    const sizes = roles.map((role) => [role.id, inlineLetters(deployment, role)] as const);
    expect(Math.min(...sizes.map(([, count]) => count))).toBeGreaterThan(100);
    expect(over(sizes, INLINE_LETTERS)).toEqual([]);
    const trusts = roles.map((role) => {
      const document = written(deployment, role)['AssumeRolePolicyDocument'];
      return [role.id, policyLetters(deployment, role.stack, document)] as const;
    });
    expect(over(trusts, TRUST_LETTERS)).toEqual([]);
  });

  it('every managed policy keeps to what IAM lets it have, and no role names more of them than it may', () => {
    const managed = deployment.ofType('AWS::IAM::ManagedPolicy').map((policy) => {
      const document = written(deployment, policy)['PolicyDocument'];
      return [policy.id, policyLetters(deployment, policy.stack, document)] as const;
    });
    expect(managed.length).toBeGreaterThan(3);
    expect(over(managed, MANAGED_LETTERS)).toEqual([]);
    const counts = roles.map((role) => [role.id, Texts.parse(role.properties['ManagedPolicyArns']).length] as const);
    expect(over(counts, MANAGED_PER_ROLE)).toEqual([]);
    if (name.startsWith('30 tags')) expect(Math.max(...managed.map(([, count]) => count))).toBeGreaterThan(2000);
  });

  it('every stack keeps to what CloudFormation takes', () => {
    expect(deployment.templates.size).toBeGreaterThan(4);
    for (const [stack, { Resources, Outputs, Parameters }] of deployment.templates) {
      expect([stack, Object.keys(Resources).length > 500]).toEqual([stack, false]);
      expect([stack, Object.keys(Outputs).length > 200]).toEqual([stack, false]);
      expect([stack, Object.keys(Parameters).length > 200]).toEqual([stack, false]);
      const bytes = new TextEncoder().encode(deployment.texts.get(stack)).byteLength;
      expect([stack, bytes > 1_000_000]).toEqual([stack, false]);
    }
  });

  it.each<readonly [type: string, property: string, most: number]>([
    ['AWS::Lambda::Function', 'Description', 256],
    ['AWS::IAM::Role', 'Description', 1000],
    ['AWS::IAM::ManagedPolicy', 'Description', 1000],
    ['AWS::CloudWatch::Alarm', 'AlarmName', 255],
    ['AWS::CloudWatch::Alarm', 'AlarmDescription', 1024],
    ['AWS::EC2::SecurityGroup', 'GroupDescription', 255],
    ['AWS::Events::Rule', 'EventPattern', 2048],
    ['AWS::Events::Rule', 'Description', 512],
    ['AWS::SSM::Document', 'Content', 65_536],
    ['AWS::StepFunctions::StateMachine', 'DefinitionString', 1_048_576],
  ])('every %s keeps to the length of %s', (type, property, most) => {
    const found = deployment.ofType(type);
    expect(found.length).toBeGreaterThan(0);
    const sizes = found.map((resource) => {
      const value = filledAtLength(deployment, resource.stack, written(deployment, resource)[property] ?? '');
      return [resource.id, (typeof value === 'string' ? value : JSON.stringify(value)).length] as const;
    });
    expect(over(sizes, most)).toEqual([]);
  });

  it('every security group keeps to 60 rules in each direction', () => {
    const Rules = z.array(z.unknown()).default([]);
    const groups = deployment.ofType('AWS::EC2::SecurityGroup');
    expect(groups.length).toBeGreaterThan(2);
    for (const { stack, id, properties } of groups) {
      for (const direction of ['Ingress', 'Egress'] as const) {
        const beside = deployment
          .ofType(`AWS::EC2::SecurityGroup${direction}`, stack)
          .filter((rule) => JSON.stringify(written(deployment, rule)['GroupId']).includes(`"${id}"`));
        const inside = Rules.parse(properties[`SecurityGroup${direction}`]);
        expect([id, direction, inside.length + beside.length > 60]).toEqual([id, direction, false]);
      }
    }
  });
});

describe('settings with more in tags than a rule has room for', () => {
  const long = Object.fromEntries(Array.from({ length: 24 }, (_, index) => [`${'k'.repeat(120)}${String(index)}`, '']));

  it('are refused with what to do', () => {
    const [problem, ...more] = ruleProblems({ ...shipped, tags: long });
    expect(more).toEqual([]);
    expect(problem?.path).toEqual(['tags']);
    expect(problem?.message).toMatch(/take \d+ characters .* use fewer or shorter tags, or fewer cost centers/);
    const document = { ...(stageDocument('default') as object), tags: long };
    expect(() => parseSettings(document, 'default.json')).toThrow(
      /tags: .*with the cost centers they take \d+ characters/,
    );
  });

  it('are rare: 30 tags of ordinary length have room', () => {
    expect(ruleProblems({ ...shipped, tags: manyTags })).toEqual([]);
  });
});
