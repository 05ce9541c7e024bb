import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { DeploymentOutputsSchema, deploymentParameterName } from '#contracts/deployment-outputs';
import { EVENT_SOURCE } from '#contracts/events';
import { FUNCTIONS } from '#contracts/functions';
import { stageSettings } from '#test/builders/stage-settings';
import { startMotoServer, type MotoServer } from '#test/emulators/moto';
import { tier } from '#test/runner/tier';
import type { StageSettings } from '../../infra/config/settings.ts';
import { buildApp } from '../../infra/stacks/build-app.ts';
import { filteredForMoto, SKIPPED_TYPES } from './moto-filter.ts';
import { placeholderFunctions, scratchFolder } from './synth.ts';

const CDK = path.resolve('node_modules/aws-cdk/bin/cdk');
const ACCOUNT = '123456789012';
const COMMAND_TIMEOUT_MS = 240_000;

interface DeployedStack {
  readonly name: string;
  readonly removed: readonly string[];
  /** Types of the resources that were handed over. */
  readonly given: readonly string[];
}

const typesOf = (template: { readonly Resources: Readonly<Record<string, { readonly Type: string }>> }) =>
  Object.values(template.Resources).map(({ Type }) => Type);
const counted = (types: readonly string[]): Readonly<Record<string, number>> => {
  const counts = new Map<string, number>();
  for (const type of types.toSorted()) counts.set(type, (counts.get(type) ?? 0) + 1);
  return Object.fromEntries(counts);
};

/** CDK's command line against an endpoint of loopback, with nothing of the caller's environment. */
async function cdk(endpoint: string, folder: string, args: readonly string[]): Promise<void> {
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: 'testing',
    AWS_SECRET_ACCESS_KEY: 'testing',
    AWS_REGION: 'us-east-1',
    AWS_EC2_METADATA_DISABLED: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
  };
  const options = { cwd: folder, env, timeout: COMMAND_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
  const child = spawn(process.execPath, [CDK, ...args, '--no-notices', '--ci'], options);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) throw new Error(`cdk ${args.join(' ')} ended with ${String(status)}:\n${said.slice(-3000)}`);
}

/** One call of a service's query protocol; moto reads the service from the signature's scope and does not check it. */
async function ask(endpoint: string, service: string, request: Pick<RequestInit, 'headers' | 'body'>): Promise<string> {
  const scope = `Credential=testing/20260101/us-east-1/${service}/aws4_request`;
  const headers = { Authorization: `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=host, Signature=none` };
  const given = z.record(z.string(), z.string()).parse(request.headers ?? {});
  const response = await fetch(endpoint, { method: 'POST', ...request, headers: { ...headers, ...given } });
  if (!response.ok) throw new Error(`${service} answered ${String(response.status)}: ${await response.text()}`);
  return await response.text();
}

/** Moto knows nothing of the public parameters that images are looked up by, and lets nobody make any of AWS's names. */
function withOwnImages(settings: StageSettings): StageSettings {
  const images = Object.entries(settings.sandboxes.images).map(([family, image]) => {
    return [family, { ...image, parameter: `/images/${family}` }] as const;
  });
  return { ...settings, sandboxes: { ...settings.sandboxes, images: Object.fromEntries(images) } };
}

tier('moto')('cdk deploy of a filtered copy', () => {
  const folder = scratchFolder();
  const stacks: DeployedStack[] = [];
  let moto: MotoServer;

  const query = async (action: string, stack: string): Promise<string> =>
    await ask(moto.endpoint, 'cloudformation', {
      body: new URLSearchParams({ Action: action, StackName: stack, Version: '2010-05-15' }),
    });

  beforeAll(async () => {
    moto = await startMotoServer();
    const settings = withOwnImages(stageSettings({ alarms: { kind: 'email', address: 'alarms@example.com' } }));
    for (const { parameter: Name = '' } of Object.values(settings.sandboxes.images))
      await ask(moto.endpoint, 'ssm', {
        headers: { 'Content-Type': 'application/x-amz-json-1.1', 'X-Amz-Target': 'AmazonSSM.PutParameter' },
        body: JSON.stringify({ Name, Value: 'ami-0123456789abcdef0', Type: 'String' }),
      });
    const outdir = path.join(folder, 'cdk.out');
    const functions = placeholderFunctions(folder);
    const assembly = buildApp({ settings, functions, outdir, isChecked: false }).app.synth();
    // From a folder without an app: within one, bootstrapping would synthesise it anew.
    await cdk(moto.endpoint, folder, ['bootstrap', `aws://${ACCOUNT}/us-east-1`]);
    for (const { stackName, templateFullPath } of assembly.stacks) {
      const { template, removed } = filteredForMoto(JSON.parse(readFileSync(templateFullPath, 'utf8')));
      writeFileSync(templateFullPath, JSON.stringify(template));
      const where = ['--app', outdir, '--exclusively', '--method=direct', '--require-approval', 'never'];
      await cdk(moto.endpoint, folder, ['deploy', stackName, ...where]);
      stacks.push({ name: stackName, removed, given: typesOf(template) });
    }
  }, 600_000);

  afterAll(async () => {
    await moto.stop();
  });

  it('takes all five templates, and makes exactly the resources of the types it knows', async () => {
    expect(stacks.length).toBe(5);
    for (const { name, given } of stacks) {
      expect(await query('DescribeStacks', name)).toContain('<StackStatus>CREATE_COMPLETE</StackStatus>');
      const listed = await query('ListStackResources', name);
      const made = [...listed.matchAll(/<ResourceType>([^<]+)</gu)].map((match) => match[1] ?? '');
      expect(made.length).toBeGreaterThan(0);
      expect([name, counted(made)]).toEqual([name, counted(given.filter((type) => !SKIPPED_TYPES.includes(type)))]);
    }
  });

  it('made functions, machines, routes, tables and buckets of them', () => {
    const made = counted(stacks.flatMap(({ given }) => given).filter((type) => !SKIPPED_TYPES.includes(type)));
    expect(made['AWS::Lambda::Function']).toBeGreaterThan(20);
    expect(made['AWS::StepFunctions::StateMachine']).toBe(2);
    expect(made['AWS::ApiGateway::Method']).toBeGreaterThan(10);
    expect(made['AWS::DynamoDB::Table']).toBe(1);
    expect(made['AWS::S3::Bucket']).toBe(4);
  });

  it('leaves the outputs where the CLI reads them', async () => {
    const text = await ask(moto.endpoint, 'ssm', {
      headers: { 'Content-Type': 'application/x-amz-json-1.1', 'X-Amz-Target': 'AmazonSSM.GetParameter' },
      body: JSON.stringify({ Name: deploymentParameterName('default') }),
    });
    const { Parameter } = z.object({ Parameter: z.object({ Value: z.string() }) }).parse(JSON.parse(text));
    const outputs = DeploymentOutputsSchema.parse(JSON.parse(Parameter.Value));
    expect(outputs).toMatchObject({ stage: 'default', region: 'us-east-1', accountId: ACCOUNT });
  });

  it('says what was taken out and what was skipped: the rest is all it shows', () => {
    const removed = stacks.flatMap(({ name, removed: gone }) => gone.map((line) => `${name}: ${line}`));
    const skipped = counted(stacks.flatMap(({ given }) => given).filter((type) => SKIPPED_TYPES.includes(type)));
    const notes = [
      ...removed.map((line) => `removed for moto: ${line}`),
      ...Object.entries(skipped).map(([type, count]) => `accepted and skipped by moto: ${type} (${String(count)})`),
    ];
    process.stdout.write(notes.map((note) => `note: ${note}\n`).join(''));
    expect(removed.filter((line) => !/: a rule on a bus|^\S+: Tags of /u.test(line))).toEqual([]);
    const heard = FUNCTIONS.filter(({ trigger }) => trigger.kind === 'event' && trigger.source === EVENT_SOURCE);
    expect(removed.filter((line) => line.includes('a rule on a bus')).length).toBe(heard.length);
    expect(removed.length).toBe(heard.length + 6);
    expect(Object.keys(skipped).toSorted()).toEqual([...SKIPPED_TYPES].toSorted());
  });
});
