import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { FUNCTIONS } from '#contracts/functions';
import { scratchFolder } from './synth.ts';

const folder = scratchFolder();
const CdkJsonSchema = z.object({ app: z.string() });

/** Runs what cdk.json names, as the CDK command line does: context in one variable, the folder of the answer in another. */
function runApp(context: object, outdir: string): { status: number | null; stderr: string } {
  const [program = '', ...args] = CdkJsonSchema.parse(JSON.parse(readFileSync('cdk.json', 'utf8'))).app.split(' ');
  const { status, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    timeout: 240_000,
    // Neither account nor region nor credentials: synthesis must need none.
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      TMPDIR: folder,
      CDK_OUTDIR: path.join(folder, outdir),
      CDK_CONTEXT_JSON: JSON.stringify(context),
    },
  });
  return { status, stderr };
}

describe('the app that cdk.json names', () => {
  it('synthesises all stacks of stage default with nothing set up, checks on, and leaves nothing but the assembly', () => {
    const { status, stderr } = runApp({}, 'default');
    expect(stderr).not.toMatch(/error/iu);
    expect(status).toBe(0);
    const files = readdirSync(path.join(folder, 'default'));
    const stacks = ['api', 'data', 'network', 'observability', 'pipeline'].map(
      (name) => `ExamHall-default-${name}.template.json`,
    );
    expect(files.filter((file) => file.endsWith('.template.json')).sort()).toEqual(stacks);
    expect(files.filter((file) => /^asset\.[0-9a-f]{64}$/u.test(file)).length).toBeGreaterThanOrEqual(FUNCTIONS.length);
    expect(readdirSync(folder).filter((name) => name.startsWith('examhall-'))).toEqual([]);
  }, 300_000);

  it('refuses wrong settings with every problem and no stack trace, before it bundles anything', () => {
    const file = path.join(folder, 'wrong.json');
    writeFileSync(file, JSON.stringify({ stage: 'wrong', logRetentionDays: 2 }));
    const { status, stderr } = runApp({ settings: file }, 'wrong');
    expect(status).toBe(1);
    expect(stderr).toMatch(/wrong\.json cannot be used \(\d+ problems\):/u);
    expect(stderr).toContain('  logRetentionDays: 2: must be one of 1, 3, 5');
    expect(stderr).toContain('  network: missing: ');
    expect(stderr).not.toMatch(/^\s+at /mu);
    expect(readdirSync(folder)).not.toContain('wrong');
  }, 120_000);
});
