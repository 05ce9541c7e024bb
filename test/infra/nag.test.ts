import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as s3 from 'aws-cdk-lib/aws-s3';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { exampleSettings, stageSettings } from '#test/builders/stage-settings';
import { ACKNOWLEDGEMENTS, shortPath, type Acknowledgement } from '../../infra/config/acknowledgements.ts';
import type { StageSettings } from '../../infra/config/settings.ts';
import { buildApp, type BuiltApp } from '../../infra/stacks/build-app.ts';
import { placeholderFunctions, scratchFolder } from './synth.ts';

const ReportSchema = z.object({
  pluginReports: z.array(
    z.object({
      pluginName: z.string(),
      violations: z.array(
        z.object({
          ruleName: z.string(),
          description: z.string(),
          violatingConstructs: z.array(z.object({ constructPath: z.string().optional() })),
        }),
      ),
    }),
  ),
});

const folder = scratchFolder();
const functions = placeholderFunctions(folder);
let count = 0;

interface Checked {
  /** One line for each finding: rule, construct, what is wrong. */
  readonly findings: readonly string[];
  readonly hasFailed: boolean;
}

/** Synthesises with every check on, as the CDK command line does. */
function check(
  settings: StageSettings,
  acknowledgements: readonly Acknowledgement[],
  change: (built: BuiltApp) => void = () => undefined,
): Checked {
  count += 1;
  const outdir = path.join(folder, `out-${String(count)}`);
  const built = buildApp({ settings, functions, outdir, acknowledgements });
  change(built);
  let hasFailed = false;
  try {
    built.app.synth();
  } catch (error) {
    if (!String(error).includes('ValidationFailed')) throw error;
    hasFailed = true;
  }
  const report = ReportSchema.parse(JSON.parse(readFileSync(path.join(outdir, 'validation-report.json'), 'utf8')));
  const findings = report.pluginReports.flatMap(({ violations }) =>
    violations.flatMap(({ ruleName, description, violatingConstructs }) =>
      violatingConstructs.map(({ constructPath = '?' }) => `${ruleName} ${shortPath(constructPath)} ${description}`),
    ),
  );
  return { findings, hasFailed };
}

const careless = ({ data }: BuiltApp): void => {
  new s3.Bucket(data, 'Careless');
  new s3.Bucket(data, 'Excused');
};
const excuse = { path: /^data\/Excused\/Resource$/, id: /^AwsSolutions-S1$/, reason: 'only in this test' };

describe('the checks of cdk-nag and of CloudFormation', () => {
  it('find nothing in a deployment where everything is brought along but what is acknowledged', () => {
    expect(check(exampleSettings(), ACKNOWLEDGEMENTS)).toEqual({ findings: [], hasFailed: false });
  }, 120_000);

  it('find nothing in a deployment with a VPC of its own, and are on: two careless buckets are found and stop synthesis', () => {
    const { findings, hasFailed } = check(stageSettings(), [...ACKNOWLEDGEMENTS, excuse], careless);
    expect(hasFailed).toBe(true);
    expect(findings.filter((finding) => !/ data\/(?:Careless|Excused)\//.test(finding))).toEqual([]);
    const found = findings.map((finding) => finding.split(' ').slice(0, 2).join(' '));
    expect(found).toContain('AwsSolutions-S1 data/Careless/Resource');
    expect(found).toContain('AwsSolutions-S10 data/Careless/Resource');
    expect(found).not.toContain('AwsSolutions-S1 data/Excused/Resource');
    expect(found).toContain('AwsSolutions-S10 data/Excused/Resource');
  }, 120_000);
});

describe('each acknowledgement', () => {
  it('has a reason, and a finding that needs it', () => {
    const { findings } = check(stageSettings(), []);
    expect(shortPath('ExamHall-a-b-data/Table/Resource')).toBe('data/Table/Resource');
    for (const { path: where, id, reason } of ACKNOWLEDGEMENTS) {
      expect(reason.length, String(id)).toBeGreaterThan(20);
      const needing = findings.filter((finding) => {
        const [rule = '', construct = ''] = finding.split(' ');
        return id.test(rule) && where.test(construct);
      });
      expect(needing, `${String(id)} at ${String(where)} matches no finding: remove it`).not.toEqual([]);
    }
  }, 120_000);
});
