import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { functionNamed } from '#contracts/functions';
import { VARIABLES } from '#contracts/variables';
import { guestDocument } from '#core/guest-documents';
import { exampleSettings, stageSettings } from '#test/builders/stage-settings';
import { sandboxVariableBytes } from '../../infra/config/sandbox-variable.ts';
import { Deployment, type DeployedResource } from './deployment.ts';
import { appForTests } from './synth.ts';

const settings = stageSettings({ tags: { team: 'research' } });
const deployment = new Deployment(appForTests(settings));

const templates = deployment.ofType('AWS::EC2::LaunchTemplate');
const TemplateSchema = z.object({ LaunchTemplateData: z.record(z.string(), z.unknown()) });
const dataOf = ({ properties }: DeployedResource): Readonly<Record<string, unknown>> =>
  TemplateSchema.parse(properties).LaunchTemplateData;

describe('launch templates', () => {
  it('are one for each network profile, with its security group and nothing of another', () => {
    expect(templates.length).toBe(2);
    for (const profile of ['open', 'sealed']) {
      const [template, ...more] = templates.filter(({ id }) => id.startsWith(`SandboxTemplate${profile}`));
      expect(more).toEqual([]);
      expect(template === undefined ? [] : dataOf(template)['SecurityGroupIds']).toEqual([`SandboxGroup${profile}`]);
    }
  });

  it.each(templates.map((template) => [template.id, template] as const))(
    '%s asks for IMDSv2 with one hop and no tags there, and ends what shuts itself down',
    (_, template) => {
      expect(dataOf(template)).toMatchObject({
        MetadataOptions: {
          HttpEndpoint: 'enabled',
          HttpTokens: 'required',
          HttpPutResponseHopLimit: 1,
          HttpProtocolIpv6: 'disabled',
          InstanceMetadataTags: 'disabled',
        },
        InstanceInitiatedShutdownBehavior: 'terminate',
        DisableApiTermination: false,
        IamInstanceProfile: { Arn: 'arn:aws:iam::111122223333:instance-profile/SandboxProfile' },
      });
    },
  );

  it('hold no key pair, no user data, no volume, no subnet and no tags: a launch brings those it may bring, as its image needs them', () => {
    const names = [
      'KeyName',
      'UserData',
      'BlockDeviceMappings',
      'NetworkInterfaces',
      'TagSpecifications',
      'ImageId',
      'InstanceType',
    ];
    for (const template of templates)
      expect(Object.keys(dataOf(template)).filter((name) => names.includes(name))).toEqual([]);
  });

  it('are tagged themselves as everything of the deployment is', () => {
    for (const { properties } of templates) {
      const text = JSON.stringify(properties['TagSpecifications']);
      expect(text).toContain('{"Key":"examhall:stage","Value":"default"}');
      expect(text).toContain('{"Key":"team","Value":"research"}');
    }
  });
});

describe('documents', () => {
  const documents = deployment.ofType('AWS::SSM::Document');

  it.each(['run', 'wait'] as const)(
    '%s holds the guest runner’s own content, and a change makes a version of it',
    (kind) => {
      const found = documents.filter(({ properties }) => properties['Name'] === `examhall-default-${kind}`);
      expect(found).toHaveLength(1);
      expect(found[0]?.properties).toMatchObject({ DocumentType: 'Command', UpdateMethod: 'NewVersion' });
      expect(found[0]?.properties['Content']).toEqual(guestDocument(kind));
    },
  );

  it('are driven for both systems, by one parameter of which nothing can be read and nothing run', () => {
    for (const { properties } of documents) {
      const Content = z.object({
        parameters: z.strictObject({ Request: z.object({ allowedPattern: z.string() }) }),
        mainSteps: z.array(z.object({ action: z.string(), precondition: z.unknown() })),
      });
      const { parameters, mainSteps } = Content.parse(properties['Content']);
      const pattern = new RegExp(parameters.Request.allowedPattern, 'u');
      expect(pattern.test('AAAA-_09')).toBe(true);
      for (const hostile of ["a'; reboot; '", '$(id)', 'a b c d e', '', 'a\nbcde', '"abcde"', '{{ ssm:x }}'])
        expect([hostile, pattern.test(hostile)]).toEqual([hostile, false]);
      expect(mainSteps.map(({ action, precondition }) => [action, JSON.stringify(precondition)])).toEqual([
        ['aws:runShellScript', '{"StringEquals":["platformType","Linux"]}'],
        ['aws:runPowerShellScript', '{"StringEquals":["platformType","Windows"]}'],
      ]);
    }
  });
});

describe('what functions are told of sandboxes', () => {
  const variable = (name: string, of = deployment) => {
    const found = of.ofType('AWS::Lambda::Function').find(({ metadata }) => metadata['examhall:function'] === name);
    const Environment = z.object({ Variables: z.record(z.string(), z.string()) });
    const text = Environment.parse(found?.properties['Environment']).Variables['EXAMHALL_SANDBOXES'] ?? '';
    return { text, value: VARIABLES.EXAMHALL_SANDBOXES.parse(text) };
  };

  it('is where to launch what and by which template, in the function that launches', () => {
    const { value } = variable('provision-sandbox');
    expect(Object.keys(value.networks)).toEqual(['open', 'sealed']);
    expect(value.networks.open?.subnets.map(({ id }) => id)).toEqual(['VpcopenSubnet1Subnet', 'VpcopenSubnet2Subnet']);
    expect(value.networks.open?.template).toEqual({ id: 'SandboxTemplateopen', version: '1' });
    expect(value).toMatchObject({
      stage: 'default',
      tags: { team: 'research' },
      documents: { run: 'examhall-default-run', wait: 'examhall-default-wait' },
    });
    expect(value.images['ale-ubuntu22']).toMatchObject({ os: 'linux', kind: 'bare', rootDevice: '/dev/sda1' });
    expect(value.images['ale-win-server']?.imageId).not.toBe(value.images['ale-ubuntu22']?.imageId);
  });

  it('names no template where other stacks would have to import it, which stops every later change of it', () => {
    for (const name of ['answer-queries', 'accept-commands']) expect(variable(name).value.networks).toEqual({});
    for (const [stack, text] of deployment.texts)
      if (stack !== 'pipeline')
        expect([stack, /LatestVersionNumber|LaunchTemplate/u.test(text)]).toEqual([stack, false]);
  });

  it.each([
    ['a VPC of its own', settings],
    ['one that is there', exampleSettings()],
  ])('takes no more bytes than synthesis counts with, in %s', (_, given) => {
    const { whole, withoutNetworks } = sandboxVariableBytes(given);
    const { text } = variable(
      'provision-sandbox',
      given === settings ? deployment : new Deployment(appForTests(given)),
    );
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(whole);
    expect(withoutNetworks).toBeLessThan(whole);
  });
});

describe('public images', () => {
  it('are looked up by their parameters at each deploy, and are all that may be launched besides images of the account', () => {
    const parameters = deployment.templates.get('pipeline')?.Parameters ?? {};
    const looked = Object.values(parameters).filter(({ Type }) => Type.includes('AWS::EC2::Image::Id'));
    expect(looked).toHaveLength(2);
    const images = deployment
      .statementsOf('ProvisionSandboxRole')
      .filter(({ Action }) => Action.includes('ec2:RunInstances'))
      .flatMap(({ Resource }) => Resource.filter((resource) => resource.includes(':image/')));
    expect(images).toHaveLength(3);
    expect(images.filter((image) => image.endsWith(':image/*'))).toHaveLength(1);
  });
});

describe('the function that calls guests', () => {
  it('runs in subnets and a group of its own, untraced, for as many calls at once as are kept for it', () => {
    const found = deployment
      .ofType('AWS::Lambda::Function')
      .find(({ metadata }) => metadata['examhall:function'] === 'call-guest');
    expect(found?.properties['VpcConfig']).toEqual({
      SecurityGroupIds: ['CallGroup'],
      SubnetIds: ['VpccallsSubnet1Subnet', 'VpccallsSubnet2Subnet'],
    });
    expect(found?.properties['TracingConfig']).toBeUndefined();
    expect(found?.properties['ReservedConcurrentExecutions']).toBe(functionNamed('call-guest').reservedConcurrency);
  });
});
