import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { endAllCli, examhall, REPOSITORY } from './cli-process.ts';
import { testGround } from './experiment-files.ts';

vi.setConfig({ testTimeout: 120_000 });

const EXAMPLE = 'infra/config/stages/example.json';
const Output = z.strictObject({
  checks: z.array(
    z.strictObject({
      name: z.string(),
      state: z.enum(['pass', 'warn', 'fail', 'unverified']),
      found: z.string(),
      remedy: z.string().nullable(),
    }),
  ),
});
const ground = testGround();

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

describe('examhall deploy-check of a settings file alone', () => {
  it('prints one JSON object, says what it did not look at, and exits with 0', async () => {
    const { code, stdout, stderr } = await examhall(['deploy-check', '--settings', EXAMPLE, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { checks } = Output.parse(JSON.parse(stdout));
    expect(checks.map(({ name, state }) => [name, state])).toEqual([
      ['settings', 'pass'],
      ['routes', 'unverified'],
      ['caps', 'pass'],
      ['images', 'unverified'],
    ]);
  });

  it('names every problem of a broken file, and exits with 1', async () => {
    const file = path.join(ground.folder, 'broken.json');
    const settings = JSON.parse(readFileSync(path.join(REPOSITORY, EXAMPLE), 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...settings, stage: 'No Stage', logRetentionDays: 1.5, colour: 'red' }));
    const { code, stdout } = await examhall(['deploy-check', '--settings', file, '--json']);
    expect(code).toBe(1);
    const failed = Output.parse(JSON.parse(stdout)).checks.filter(({ state }) => state === 'fail');
    expect(failed).toMatchObject([{ name: 'settings', remedy: 'correct the file' }]);
    const [, ...problems] = failed[0]?.found.split('\n') ?? [];
    expect(problems.map((line) => line.trim().split(/[:\s]/u)[0]).toSorted()).toEqual([
      'colour',
      'logRetentionDays',
      'stage',
    ]);
    const text = await examhall(['deploy-check', '--settings', file]);
    expect(text.code).toBe(1);
    for (const line of problems) expect(text.stdout).toContain(line.trim());
  });

  it('has nothing to look at without a stage, a host or settings', async () => {
    const { code, stdout, stderr } = await examhall(['deploy-check', '--json']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('there is nothing to look at');
  });
});
