import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stageSettings } from '#test/builders/stage-settings';
import { node24 } from '#test/emulators/node24';
import { tier } from '#test/runner/tier';
import { bundleFunctions } from '../../infra/bundler-functions.ts';
import { buildApp } from '../../infra/stacks/build-app.ts';
import { endAllCli, examhall } from '../e2e/cli-process.ts';
import { testGround, writeExperiment } from '../e2e/experiment-files.ts';
import { maskedRuns } from './record-mask.ts';

const MAIN = path.join(import.meta.dirname, 'bundles-run-main.ts');
const TIMEOUT_MS = 300_000;
const NAME = 'same';
const AGENTS = ['nop', 'oracle', 'scripted'];
const TASKS: readonly (readonly [string, readonly number[]])[] = [
  ['business_finance/form_1040', [0]],
  ['life_sciences/plate_reader_qc', [0]],
  ['computing_math/rational_calculator', [0]],
];

interface Ended {
  readonly node: string;
  readonly executionStatus: string;
  readonly error: string | null;
  readonly units: readonly {
    readonly unitId: string;
    readonly agentId: string;
    readonly class: string;
    readonly score: number | null;
  }[];
  readonly treeRoot: string;
}

const ground = testGround();
const assembly = path.join(ground.folder, 'cdk.out');
let source: Ended;

/** Runs the experiment into a tree of its own; from the assembly's assets and templates where one is given. */
async function run(label: string, from: readonly string[], node?: string): Promise<Ended> {
  const outputRoot = path.join(ground.folder, label);
  const file = writeExperiment(ground, { name: NAME, agents: AGENTS, tasks: TASKS, outputRoot });
  const options = { main: MAIN, timeoutSeconds: 280, ...(node === undefined ? {} : { node }) };
  const { code, stdout, stderr } = await examhall([file, ...from], options);
  if (code !== 0) throw new Error(`the run ${label} ended with ${String(code)}: ${stderr}`);
  return { ...(JSON.parse(stdout) as Omit<Ended, 'treeRoot'>), treeRoot: path.join(outputRoot, NAME) };
}

const outcomes = ({ units }: Ended) => units.map(({ unitId, class: kind, score }) => [unitId, kind, score]);

beforeAll(async () => {
  const functions = await bundleFunctions(path.join(ground.folder, 'functions'));
  buildApp({ settings: stageSettings(), functions, outdir: assembly, isChecked: false }).app.synth();
  source = await run('source', []);
}, TIMEOUT_MS);
afterAll(async () => {
  await endAllCli();
  ground.remove();
});

it('the sweep from source gives every unit the grade its agent earns', () => {
  expect([source.executionStatus, source.error]).toEqual(['SUCCEEDED', null]);
  const scores = source.units.map(({ agentId, score }) => [agentId, score]);
  expect(source.units).toHaveLength(AGENTS.length * TASKS.length);
  expect(new Set(source.units.map(({ class: kind }) => kind))).toEqual(new Set(['scored']));
  expect(scores.filter(([agent]) => agent === 'oracle').every(([, score]) => score === 1)).toBe(true);
  expect(Object.keys(maskedRuns(source.treeRoot))).toHaveLength(source.units.length);
});

describe('the same sweep from what a synthesised assembly deploys', () => {
  it(
    'leaves the same records, locks and all, but for times',
    async () => {
      const deployed = await run('deployed', [assembly]);
      expect([deployed.executionStatus, deployed.error, deployed.node]).toEqual(['SUCCEEDED', null, source.node]);
      expect(outcomes(deployed)).toEqual(outcomes(source));
      expect(maskedRuns(deployed.treeRoot)).toEqual(maskedRuns(source.treeRoot));
    },
    TIMEOUT_MS,
  );
});

tier('node24')('the same sweep under the Node of deployed functions', () => {
  it(
    'leaves the same records, but for times and what they say of Node',
    async () => {
      const deployed = await run('node24', [assembly], node24.program);
      expect([deployed.executionStatus, deployed.error, deployed.node]).toEqual(['SUCCEEDED', null, node24.version]);
      expect(outcomes(deployed)).toEqual(outcomes(source));
      const runs = maskedRuns(deployed.treeRoot, true);
      expect(runs).toEqual(maskedRuns(source.treeRoot, true));
      const [record] = Object.values(maskedRuns(deployed.treeRoot)).map((each) => each.record);
      expect(record).toMatchObject({ versions: { node: node24.version } });
    },
    TIMEOUT_MS,
  );
});
