import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { FUNCTIONS } from '#contracts/functions';
import { exampleSettings } from '#test/builders/stage-settings';
import { deployedVersion } from '../../infra/constructs/deployed-version.ts';
import { environmentOf } from '../../infra/constructs/host-resources.ts';
import { Deployment } from './deployment.ts';
import { appForTests, placeholderFunctions, scratchFolder } from './synth.ts';

const built = appForTests();
const deployment = new Deployment(built);
const parts = ['data', 'network', 'pipeline', 'api', 'observability'];

/** CloudFormation's own limits; a template comes near neither. */
const MAX_TEMPLATE_BYTES = 1_000_000;
const MAX_RESOURCES = 500;
/** What Lambda keeps for functions that reserve nothing. */
const UNRESERVED_CONCURRENCY = 100;

describe('the stacks', () => {
  it('are five', () => {
    expect([...deployment.templates.keys()].toSorted()).toEqual(parts.toSorted());
  });

  it.each(parts)('%s is a template of less than 1 MB, 500 resources and 200 outputs', (part) => {
    const template = deployment.templates.get(part);
    const resources = Object.keys(template?.Resources ?? {}).length;
    expect(resources).toBeGreaterThan(5);
    expect(resources).toBeLessThan(MAX_RESOURCES);
    expect(Object.keys(template?.Outputs ?? {}).length).toBeLessThan(200);
    expect(Buffer.byteLength(deployment.texts.get(part) ?? '')).toBeLessThan(MAX_TEMPLATE_BYTES);
  });

  it('depend on each other one way only, data first and observability last', () => {
    const order: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
      [built.data, built.network, built.pipeline, built.api, built.observability].map((stack) => [
        stack.stackName.split('-').at(-1) ?? '',
        stack.dependencies.map(({ stackName }) => stackName.split('-').at(-1) ?? '').toSorted(),
      ]),
    );
    expect(order['data']).toEqual([]);
    for (const [index, part] of parts.entries()) {
      expect([part, order[part]?.filter((other) => !parts.slice(0, index).includes(other))]).toEqual([part, []]);
    }
  });

  it('have no resource that waits for itself by what it refers to', () => {
    for (const part of parts) expect([part, circleIn(deployment.texts.get(part) ?? '')]).toEqual([part, undefined]);
    const circle = {
      a: { DependsOn: ['b'] },
      b: { Value: { 'Fn::GetAtt': ['c', 'Arn'] } },
      c: { Value: { Ref: 'a' } },
    };
    expect(circleIn(JSON.stringify({ Resources: circle }))).toBe('a');
  });

  it('are for no account and no region in particular', () => {
    const text = parts.map((part) => deployment.texts.get(part) ?? '').join('\n');
    expect(text.match(/\b\d{12}\b/gu) ?? []).toEqual([]);
    expect(text.match(/\b(?:us|eu|ap)-[a-z]+-\d\b/gu) ?? []).toEqual([]);
  });
});

const RawSchema = z.object({
  Resources: z.record(z.string(), z.looseObject({ DependsOn: z.union([z.string(), z.array(z.string())]).default([]) })),
});

/** The first resource of a template that depends on itself, through whatever. */
function circleIn(text: string): string | undefined {
  const { Resources } = RawSchema.parse(JSON.parse(text));
  const needs = new Map(
    Object.entries(Resources).map(([id, { DependsOn, ...resource }]) => {
      const named = [...JSON.stringify(resource).matchAll(/"(?:Ref":"|Fn::GetAtt":\[")(\w+)"/gu)];
      const all = [...[DependsOn].flat(), ...named.flatMap((match) => match[1] ?? [])];
      return [id, all.filter((name) => name in Resources)];
    }),
  );
  const reaches = (id: string, target: string, seen: Set<string>): boolean =>
    (needs.get(id) ?? []).some((next) => {
      if (next === target) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return reaches(next, target, seen);
    });
  return [...needs.keys()].find((id) => reaches(id, id, new Set()));
}

describe('with everything brought along', () => {
  it('the app is made as well, with the boundary and the tags of the settings', () => {
    const settings = exampleSettings();
    const brought = new Deployment(appForTests(settings));
    const roles = brought.ofType('AWS::IAM::Role');
    expect(roles.length).toBeGreaterThan(20);
    for (const { properties } of roles) expect(properties['PermissionsBoundary']).toBe(settings.permissionsBoundaryArn);
  });
});

describe('what is deployed', () => {
  it('has a hash over bundles and machines that changes with them alone', () => {
    const folder = scratchFolder();
    const functions = placeholderFunctions(folder);
    const one = deployedVersion(functions);
    expect(one).toEqual(deployedVersion(placeholderFunctions(scratchFolder())));
    const fewer = new Map([...functions].slice(1));
    expect(deployedVersion(fewer).codeSha256).not.toBe(one.codeSha256);
    expect(one.examhall).toMatch(/^\d+\.\d+\.\d+/u);
  });

  it('names what is not made yet, instead of leaving a variable out', () => {
    const [needing] = FUNCTIONS.filter(({ name }) => name === 'provision-sandbox');
    expect(needing).toBeDefined();
    const { resources } = built.pipeline;
    const schedules = { groupName: 'g', scheduleArns: 'arn:aws:scheduler:::schedule/g/*' };
    expect(() => environmentOf(['EXAMHALL_SCHEDULE_ROLE_ARN'], { ...resources, schedules })).toThrow(
      /EXAMHALL_SCHEDULE_ROLE_ARN is needed before it is made/u,
    );
  });
});

it('the documents name the concurrency that an account must have', () => {
  const reserved = FUNCTIONS.reduce((sum, { reservedConcurrency = 0 }) => sum + reservedConcurrency, 0);
  expect(reserved).toBeGreaterThan(0);
  const least = String(reserved + UNRESERVED_CONCURRENCY);
  const runbook = readFileSync('infra/RUNBOOK.md', 'utf8');
  expect(runbook).toContain(`reserve ${String(reserved)} concurrent executions`);
  expect(runbook).toContain(`below ${least} refuses`);
  expect(readFileSync('README.md', 'utf8')).toContain(`Lambda: ${least} at least`);
  expect(readFileSync('test/live/run.ts', 'utf8')).toContain(`quota of at least ${least}`);
});
