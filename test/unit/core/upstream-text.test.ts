import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgentSpec } from '#core/agent-spec';
import { type EnvironmentSpec, readEnvironment } from '#core/environment';
import { plainSource } from '#core/located';
import { enumerateUnits, type PlannedUnit } from '#core/matrix';
import { dryRunBlock, formatFixed, resultTable } from '#core/upstream-text';

const at = { file: 'e.yaml', line: 1, column: 1 };

function agent(id: string): AgentSpec {
  return { id, harness: id, className: null, model: null, executor: null, config: {}, file: 'a.yaml', at };
}

function units(trials = 1): PlannedUnit[] {
  const tasks = [{ path: 'demo/hello', variants: [0, 2], at, variantsAt: [at, at] }];
  return enumerateUnits({ agents: [agent('試験')], tasks, trials });
}

function environment(value: unknown): EnvironmentSpec {
  return readEnvironment(plainSource('env.yaml', value)).environment;
}

const snapshots = {
  b: { provider: 'qemu', image: 'ale-win10', qemu: { disk_source: '/d' } },
  B: { provider: 'docker', image: 'ale-kasm' },
};

describe('the dry run', () => {
  it('pads by letters and sorts tags as upstream does', () => {
    const experiment = {
      name: 'n',
      environment: environment({ snapshots }),
      outputRootText: './a//b/../c/',
      concurrency: 3,
    };
    expect(dryRunBlock(experiment, units())).toBe(
      [
        'experiment: n',
        'environment: docker+qemu (B->docker, b->qemu)',
        'output:     a/b/../c/n',
        'concurrency: 3',
        'units (2):',
        `  試験${' '.repeat(18)}  demo/hello${' '.repeat(30)}  v0`,
        `  試験${' '.repeat(18)}  demo/hello${' '.repeat(30)}  v2`,
      ].join('\n'),
    );
  });

  it('shows trials only when there are several', () => {
    const experiment = {
      name: 'n',
      environment: environment({ provider: 'static', endpoint: 'http://h' }),
      outputRootText: '/x',
      concurrency: 1,
    };
    const lines = dryRunBlock(experiment, units(2)).split('\n');
    expect(lines.slice(1, 3)).toEqual(['environment: static', 'output:     /x/n']);
    expect(lines.slice(5).map((line) => line.slice(-13))).toEqual([
      'v0  trial_001',
      'v0  trial_002',
      'v2  trial_001',
      'v2  trial_002',
    ]);
  });
});

describe('the result table', () => {
  const row = {
    agentId: 'codex',
    taskPath: 'demo/hello',
    variant: 12,
    trial: 1,
    status: 'completed',
    score: 0.125,
    durationSeconds: 12.25,
  };

  it('has the columns of upstream', () => {
    expect(resultTable([row, { ...row, status: 'not_executed', score: null, durationSeconds: null }])).toBe(
      [
        '',
        'agent                 task                                      var  status       score     dur',
        '-'.repeat(100),
        'codex                 demo/hello                                 12  completed     0.12   12.2s',
        'codex                 demo/hello                                 12  not_executed     -       -  ',
      ].join('\n'),
    );
  });

  it('says when there is nothing to show', () => {
    expect(resultTable([])).toBe('(no results)');
  });

  it('tells trials apart', () => {
    const lines = resultTable([row, { ...row, trial: 2 }]).split('\n');
    expect([lines[1], lines[3], lines[4]].map((line) => line?.slice(-11))).toEqual(
      ['dur  trial', 'trial_001', 'trial_002'].map((text) => text.padStart(11)),
    );
  });
});

describe('fixed decimals', () => {
  it.each([
    [0.125, 2, '0.12'],
    [0.375, 2, '0.38'],
    [0.625, 2, '0.62'],
    [0.045, 2, '0.04'],
    [0.285, 2, '0.28'],
    [1, 2, '1.00'],
    [0.25, 1, '0.2'],
    [0.75, 1, '0.8'],
    [7200.05, 1, '7200.1'],
  ])('%d with %i digits is %s', (value, digits, text) => {
    expect(formatFixed(value, digits)).toBe(text);
  });

  it('are never further than half a step away', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (value) => {
        expect(Math.abs(Number(formatFixed(value, 2)) - value)).toBeLessThanOrEqual(0.005 + 1e-12);
      }),
    );
  });
});
