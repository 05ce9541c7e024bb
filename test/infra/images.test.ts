import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { imageFamily } from '#core/image-family';
import { stageSettings } from '#test/builders/stage-settings';
import { cfnLintProgram } from '#test/emulators/moto-installation';
import { bootFiles, packBootArchive } from '../../infra/bundler-boot-files.ts';
import { FEATURE_FLAGS } from '../../infra/config/feature-flags.ts';
import { componentDocument, IMAGE_KINDS } from '../../infra/constructs/image-components.ts';
import { STAGE_TAG } from '../../infra/constructs/sandbox-tags.ts';
import { buildApp } from '../../infra/stacks/build-app.ts';
import { ImagesStack } from '../../infra/stacks/images-stack.ts';
import { tier } from '../runner/tier.ts';
import { appForTests, placeholderFunctions, scratchFolder } from './synth.ts';

const folder = scratchFolder();
const archiveFile = path.join(folder, 'boot.tar.gz');
writeFileSync(archiveFile, 'an archive');

function stackOf(changes: Partial<ConstructorParameters<typeof ImagesStack>[2]> = {}): {
  template: Template;
  file: string;
} {
  const app = new App({
    context: FEATURE_FLAGS,
    analyticsReporting: false,
    outdir: path.join(folder, `out-${String(Object.keys(changes).length)}`),
  });
  const stack = new ImagesStack(app, 'Images', { stage: 'dev', archiveFile, schedule: 'never', ...changes });
  const assembly = app.synth();
  return { template: Template.fromStack(stack), file: assembly.getStackByName(stack.stackName).templateFullPath };
}

const plain = stackOf();
const placed = stackOf({
  schedule: 'monthly',
  place: { subnetId: 'subnet-0123456789abcdef0', securityGroupId: 'sg-0123456789abcdef0' },
});

describe('the pipelines of images', () => {
  it('are one for each system, with tests on a machine of the new image, and start by themselves only when told', () => {
    plain.template.resourceCountIs('AWS::ImageBuilder::ImagePipeline', 2);
    plain.template.allResourcesProperties('AWS::ImageBuilder::ImagePipeline', {
      ImageTestsConfiguration: { ImageTestsEnabled: true },
      Schedule: Match.absent(),
    });
    placed.template.allResourcesProperties('AWS::ImageBuilder::ImagePipeline', { Schedule: Match.objectLike({}) });
  });

  it('build on machines with IMDSv2 and one hop that are ended when they fail, in the given subnet', () => {
    placed.template.hasResourceProperties('AWS::ImageBuilder::InfrastructureConfiguration', {
      InstanceMetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
      TerminateInstanceOnFailure: true,
      SubnetId: 'subnet-0123456789abcdef0',
      SecurityGroupIds: ['sg-0123456789abcdef0'],
    });
  });

  it('build on machines that the reaper, which asks for the tag of the stage, does not take for sandboxes', () => {
    const found = Object.values(plain.template.findResources('AWS::ImageBuilder::InfrastructureConfiguration'));
    const tags = found.map((each: { Properties?: { ResourceTags?: Record<string, string> } }) => {
      return each.Properties?.ResourceTags ?? {};
    });
    expect(tags).toEqual([{ 'examhall:image-build': 'dev' }]);
    for (const each of tags) expect(Object.keys(each)).not.toContain(STAGE_TAG);
  });

  it('make encrypted images, tagged with the family that they stand for', () => {
    plain.template.allResourcesProperties('AWS::ImageBuilder::ImageRecipe', {
      BlockDeviceMappings: [{ Ebs: Match.objectLike({ Encrypted: true, DeleteOnTermination: true }) }],
    });
    for (const { family } of IMAGE_KINDS) {
      expect(imageFamily(family)).not.toBeNull();
      plain.template.hasResourceProperties('AWS::ImageBuilder::DistributionConfiguration', {
        Distributions: [
          {
            AmiDistributionConfiguration: Match.objectLike({
              AmiTags: { 'examhall:stage': 'dev', 'examhall:image': family },
            }),
          },
        ],
      });
    }
  });

  it('have other names when another archive goes in, since recipes cannot be changed', () => {
    const names = (template: Template): unknown[] =>
      Object.values(template.findResources('AWS::ImageBuilder::ImageRecipe')).map(
        (each: { Properties?: { Name?: unknown } }) => each.Properties?.Name,
      );
    const other = path.join(folder, 'other.tar.gz');
    writeFileSync(other, 'another archive');
    const changed = names(stackOf({ archiveFile: other }).template);
    expect(names(plain.template)).toEqual(names(placed.template));
    expect(changed).toHaveLength(2);
    for (const name of changed) expect(names(plain.template)).not.toContain(name);
  });
});

describe('a deployment that asks for images', () => {
  it('has their stack, with every check on and what stands in it acknowledged; others have none', () => {
    const functions = placeholderFunctions(folder);
    writeFileSync(path.join(functions.get('provision-sandbox')?.folder ?? '', 'boot.tar.gz'), 'an archive');
    const settings = stageSettings({ imageBuilder: { isOn: true, schedule: 'never' } });
    const name = `ExamHall-${settings.stage}-images`;
    const assembly = buildApp({ settings, functions, outdir: path.join(folder, 'whole') }).app.synth();
    expect(assembly.stacks.map(({ stackName }) => stackName)).toContain(name);
    const without = appForTests(stageSettings(), folder).app.synth();
    expect(without.stacks.map(({ stackName }) => stackName)).not.toContain(name);
  }, 120_000);
});

/** Inputs of the modules that are used, as the documentation of Image Builder's component manager has them. */
const Commands = z.strictObject({ commands: z.array(z.string().min(1)).min(1) });
const Timed = { name: z.string().regex(/^[A-Za-z]+$/u), timeoutSeconds: z.int().positive() };
const StepSchema = z.discriminatedUnion('action', [
  z.strictObject({ ...Timed, action: z.literal('ExecuteBash'), inputs: Commands }),
  z.strictObject({ ...Timed, action: z.literal('ExecutePowerShell'), inputs: Commands }),
  z.strictObject({
    name: z.string(),
    action: z.literal('S3Download'),
    inputs: z.array(z.strictObject({ source: z.string().regex(/^s3:/u), destination: z.string() })),
  }),
  z.strictObject({
    name: z.string(),
    action: z.literal('Reboot'),
    inputs: z.strictObject({ delaySeconds: z.int().nonnegative() }),
  }),
]);

describe('the component documents', () => {
  const archive = { s3Url: 's3://bucket/boot.tar.gz', sha256: 'ab'.repeat(32) };

  it.each(IMAGE_KINDS)('check the archive before they run it, and are short enough: $name', (kind) => {
    const text = JSON.stringify(componentDocument(kind, archive));
    expect(text.length).toBeLessThan(16_000);
    expect(text.indexOf(archive.sha256)).toBeGreaterThan(0);
    expect(text.indexOf(archive.sha256)).toBeLessThan(text.search(/install\.(?:sh|ps1)/));
    expect(text).toMatch(/verify\.(?:sh|ps1)/);
  });

  it.each(IMAGE_KINDS)('make the folder that the archive is downloaded into before they download it: $name', (kind) => {
    const Component = z.strictObject({
      name: z.string(),
      description: z.string(),
      schemaVersion: z.literal('1.0'),
      phases: z
        .array(z.strictObject({ name: z.enum(['build', 'validate', 'test']), steps: z.array(StepSchema).min(1) }))
        .min(1),
    });
    const { phases } = Component.parse(JSON.parse(JSON.stringify(componentDocument(kind, archive))));
    const steps = phases.find(({ name }) => name === 'build')?.steps ?? [];
    const at = steps.findIndex(({ action }) => action === 'S3Download');
    const folder = kind.platform === 'Linux' ? '/opt/examhall' : String.raw`C:\examhall`;
    expect(JSON.stringify(steps[at]?.inputs)).toContain(JSON.stringify(folder).slice(1, -1));
    const before = steps.slice(0, at).map(({ inputs }) => JSON.stringify(inputs));
    expect(before.join()).toMatch(
      kind.platform === 'Linux' ? /install -d .*\/opt\/examhall/u : /New-Item .*C:\\\\examhall'/u,
    );
  });

  it('are in a language that Image Builder runs', () => {
    const documents = IMAGE_KINDS.map((kind) => JSON.stringify(componentDocument(kind, archive)));
    expect(documents[0]).toContain('"ExecuteBash"');
    expect(documents[1]).toContain('"ExecutePowerShell"');
    for (const document of documents)
      expect(document).not.toMatch(/"action":"(?!S3Download|ExecuteBash|ExecutePowerShell|Reboot)/);
  });
});

describe('the boot archive', () => {
  it('holds guest and recipes of both systems, nothing secret, and has the same bytes each time', async () => {
    const files = await bootFiles(path.join(folder, 'bundles'));
    const archive = packBootArchive(files);
    expect(Buffer.from(packBootArchive(await bootFiles(path.join(folder, 'again')))).equals(archive)).toBe(true);
    const file = path.join(folder, 'real.tar.gz');
    writeFileSync(file, archive);
    const listed = spawnSync('tar', ['-tvzf', file], { encoding: 'utf8', timeout: 20_000 }).stdout.trim().split('\n');
    const names = listed.map((line) => line.split(/\s+/).at(-1) ?? '');
    expect(names).toEqual(files.map((each) => each.path));
    for (const name of [
      'runner.mjs',
      'cua-desktop.mjs',
      'linux/install.sh',
      'linux/files/examhall-cua.service',
      'linux/requirements.lock',
      'windows/install.ps1',
      'windows/requirements.lock',
    ])
      expect(names).toContain(name);
    expect(names.filter((name) => !/^(?:runner\.mjs|cua-desktop\.mjs|(?:linux|windows)\/.+)$/.test(name))).toEqual([]);
    expect(names.filter((name) => /\.(?:md|ts)$/.test(name))).toEqual([]);
    expect(listed.find((line) => line.endsWith('linux/install.sh'))).toMatch(/^-rwxr-xr-x root\/root/);
    expect(listed.find((line) => line.endsWith('runner.mjs'))).toMatch(/^-rw-r--r-- root\/root/);
    expect(archive.length).toBeLessThan(4_000_000);
  }, 60_000);
});

tier('moto')('the template of images', () => {
  it('passes cfn-lint', () => {
    for (const { file } of [plain, placed]) {
      const { stdout, status } = spawnSync(cfnLintProgram(), ['--format', 'parseable', '--', file], {
        encoding: 'utf8',
        timeout: 120_000,
      });
      expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
    }
  }, 240_000);
});
