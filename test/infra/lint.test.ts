import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { exampleSettings, stageSettings } from '#test/builders/stage-settings';
import { cfnLintProgram } from '#test/emulators/moto-installation';
import { tier } from '#test/runner/tier';
import { LINT_ACKNOWLEDGEMENTS } from '../../infra/config/acknowledgements.ts';
import { appForTests, scratchFolder } from './synth.ts';

const FindingsSchema = z.array(
  z.object({
    Filename: z.string(),
    Rule: z.object({ Id: z.string() }),
    Message: z.string(),
  }),
);
type Finding = z.infer<typeof FindingsSchema>[number];

/** Runs cfn-lint; it ends with 0 when it finds nothing, else with bits for what it found. */
function lint(files: readonly string[]): readonly Finding[] {
  const { status, stdout, stderr, error } = spawnSync(cfnLintProgram(), ['--format', 'json', '--', ...files], {
    encoding: 'utf8',
    timeout: 240_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) throw error;
  if (status === null || status >= 32 || stderr !== '')
    throw new Error(`cfn-lint ended with ${String(status)}: ${stderr}`);
  return FindingsSchema.parse(JSON.parse(stdout));
}

const stands = ({ Rule, Message }: Finding): boolean =>
  LINT_ACKNOWLEDGEMENTS.some(({ rule, message }) => rule === Rule.Id && message.test(Message));

tier('moto')('cfn-lint', () => {
  const folder = scratchFolder();
  let files: readonly string[] = [];
  let findings: readonly Finding[] = [];

  beforeAll(() => {
    const own = appForTests(stageSettings(), folder).app.synth().stacks;
    // With everything brought along only these differ.
    const brought = appForTests(exampleSettings(), folder)
      .app.synth()
      .stacks.filter(({ stackName }) => /-(?:data|network)$/.test(stackName));
    files = [...own, ...brought].map(({ templateFullPath }) => templateFullPath);
    findings = lint(files);
  }, 300_000);

  it('finds nothing in any template but what is acknowledged', () => {
    expect(files.length).toBe(7);
    expect(
      findings
        .filter((finding) => !stands(finding))
        .map(({ Filename, Rule, Message }) => `${path.basename(Filename)} ${Rule.Id} ${Message}`),
    ).toEqual([]);
  });

  it.each(LINT_ACKNOWLEDGEMENTS)('needs the acknowledgement of $rule', ({ rule, message, reason }) => {
    expect(reason.length).toBeGreaterThan(20);
    expect(findings.filter(({ Rule, Message }) => Rule.Id === rule && message.test(Message))).not.toEqual([]);
  });

  it('sees a property that CloudFormation does not know', () => {
    const [template = ''] = files.filter((file) => file.endsWith('-data.template.json'));
    const broken = path.join(folder, 'broken.template.json');
    writeFileSync(broken, readFileSync(template, 'utf8').replace('"BillingMode"', '"BilingMode"'));
    expect(lint([broken]).map(({ Message }) => Message)).toContainEqual(expect.stringContaining('BilingMode'));
  }, 120_000);
});
