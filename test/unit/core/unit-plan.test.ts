import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lifeSeconds, namesOfUnit, runStamp, RUN_MARGIN_SECONDS, unitSeconds } from '#core/unit-plan';
import { UnitPlanItem } from '#contracts/payloads';

const limits = {
  nowIso: '2026-01-01T00:00:00.000Z',
  deadlineAt: '2026-01-01T01:00:00.000Z',
  agentTimeoutSeconds: 7200,
  gradingTimeoutSeconds: 600,
};

describe('the time limits of a unit', () => {
  it('follow the deadline, the agent and the grader', () => {
    const seconds = unitSeconds(limits);
    expect(seconds.admitSeconds).toBe(3600);
    expect(seconds.runSeconds).toBe(7200 + RUN_MARGIN_SECONDS);
    expect(seconds.gradeSeconds).toBeGreaterThan(600);
  });

  it('are at least a second when the deadline has passed, so that the machine takes them', () => {
    expect(unitSeconds({ ...limits, deadlineAt: '2025-01-01T00:00:00.000Z' }).admitSeconds).toBe(1);
  });

  it('fit a state machine and a date for any limits a card or request may state', () => {
    const seconds = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(
        seconds,
        fc.integer({ min: 1, max: 600 }),
        fc.date({ noInvalidDate: true }),
        (agent, grading, deadline) => {
          const planned = unitSeconds({
            ...limits,
            deadlineAt: deadline.toISOString(),
            agentTimeoutSeconds: agent,
            gradingTimeoutSeconds: grading,
          });
          for (const value of Object.values(planned)) {
            expect(Number.isInteger(value)).toBe(true);
            expect(value).toBeGreaterThan(0);
            expect(value).toBeLessThanOrEqual(99_999_999);
          }
          expect(new Date(Date.parse(limits.nowIso) + lifeSeconds(planned) * 1000).toISOString()).toMatch(/^\d{4}-/u);
        },
      ),
    );
  });

  it('leave the sandbox alive for longer than all its states together', () => {
    const seconds = unitSeconds(limits);
    const { admitSeconds, ...held } = seconds;
    const sum = Object.values(held).reduce((total, value) => total + value, 0);
    expect(admitSeconds).toBe(3600);
    expect(lifeSeconds(seconds)).toBeGreaterThan(sum);
  });
});

describe('the names of a unit', () => {
  const unit = { agentId: 'Claude Code', model: 'anthropic/x.1', taskPath: 'domain/task', variant: 3, trial: 2 };

  it('are its id and its folder, of the same slugs', () => {
    expect(namesOfUnit('s', unit, 5)).toEqual({
      unitId: 's__claude_code__anthropic-x-1__domain__task__v3__t002',
      unitDir: 'claude_code/anthropic-x-1/domain__task/v3/trial_002',
    });
  });

  it('have no trial in them when there is one only', () => {
    expect(namesOfUnit('s', { ...unit, trial: 1 }, 1)).toEqual({
      unitId: 's__claude_code__anthropic-x-1__domain__task__v3',
      unitDir: 'claude_code/anthropic-x-1/domain__task/v3',
    });
  });

  it('fit the payloads', () => {
    const { unitId } = namesOfUnit('s', unit, 5);
    const { lifeSeconds: _, ...seconds } = { ...unitSeconds(limits), lifeSeconds: 0 };
    const item = { sweepId: 's', run: 1, unitId, firstAttempt: 1, gradesOnOwnSandbox: false, ...seconds };
    expect(UnitPlanItem.parse(item)).toEqual(item);
  });
});

it('the stamp of a run folder is its start in UTC, to the second', () => {
  expect(runStamp('2026-03-04T05:06:07.999Z')).toBe('20260304_050607');
});
