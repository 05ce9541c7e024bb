import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { FUNCTIONS } from '#contracts/functions';
import { LOG_EVENTS } from '#core/log-events';
import { stageSettings } from '#test/builders/stage-settings';
import { ALARM_KINDS, EVENT_ALARMS, SILENCE_ALARMS } from '../../infra/constructs/alarm-kinds.ts';
import { EVENTS_WITHOUT_QUERY, LOG_QUERIES } from '../../infra/constructs/log-queries.ts';
import { Deployment } from './deployment.ts';
import { appForTests } from './synth.ts';

const address = 'alarms@example.com';
const deployment = new Deployment(appForTests(stageSettings({ alarms: { kind: 'email', address } })));
const runbook = readFileSync('infra/RUNBOOK.md', 'utf8');
const headings = [...runbook.matchAll(/^## (.+)$/gmu)].map((match) => match[1] ?? '');

const AlarmSchema = z.object({
  AlarmName: z.string(),
  AlarmDescription: z.string(),
  AlarmActions: z.array(z.string()).default([]),
  TreatMissingData: z.string(),
  Threshold: z.number(),
  ComparisonOperator: z.string(),
});
const alarms = deployment.ofType('AWS::CloudWatch::Alarm').map(({ properties }) => ({
  ...AlarmSchema.parse(properties),
  text: JSON.stringify(properties),
}));
/** `examhall-default Function errors: plan-sweep` -> `Function errors`. */
const headingOf = (name: string): string => name.replace(/^examhall-\S+ /u, '').replace(/: [a-z-]+$/u, '');
const alarmsOf = (heading: string) => alarms.filter(({ AlarmName }) => headingOf(AlarmName) === heading);

describe('alarms and the runbook', () => {
  it('have each other: every alarm a heading, every heading an alarm', () => {
    expect(alarms.length).toBeGreaterThan(15);
    expect(headings.length).toBeGreaterThan(15);
    expect([...new Set(alarms.map(({ AlarmName }) => headingOf(AlarmName)))].toSorted()).toEqual(headings.toSorted());
    expect(Object.values(ALARM_KINDS).toSorted()).toEqual(headings.toSorted());
  });

  it.each(Object.values(ALARM_KINDS))('%s says what it means, what to look at and what to do', (heading) => {
    const section = runbook.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
    for (const part of ['**Means**:', '**Look at**:', '**Do**:'])
      expect([part, section.includes(part)]).toEqual([part, true]);
  });

  it('lead there: each description names the heading as a link does', () => {
    for (const { AlarmName, AlarmDescription } of alarms) {
      const anchor = headingOf(AlarmName).toLowerCase().replaceAll(' ', '-');
      expect(AlarmDescription).toContain(`infra/RUNBOOK.md#${anchor}`);
    }
  });

  it('names the alarms of the runbook in the runbook as they are called', () => {
    const mentioned = [...runbook.matchAll(/\b_([A-Z][A-Za-z ,…]+?)_/gu)].map((match) => match[1] ?? '');
    const known = [...headings, ...LOG_QUERIES.map(({ name }) => name), 'Sandboxes lost…'];
    expect(mentioned.length).toBeGreaterThan(10);
    expect(mentioned.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('what the runbook says of concurrency', () => {
  it('is the sum of what functions reserve', () => {
    const reserved = FUNCTIONS.reduce((sum, { reservedConcurrency }) => sum + (reservedConcurrency ?? 0), 0);
    expect(reserved).toBeGreaterThan(0);
    const said = /reserve (\d+) concurrent executions[\s\S]*?quota below (\d+)/u.exec(runbook);
    expect(said?.slice(1).map(Number)).toEqual([reserved, reserved + 100]);
  });
});

describe('alarms', () => {
  it('watch the errors of every function, and the throttles of all that do not run one at a time', () => {
    const names = FUNCTIONS.map(({ name }) => name);
    const named = (heading: string): readonly string[] =>
      alarmsOf(heading).map(({ AlarmName }) => AlarmName.replace(/^.*: /u, ''));
    expect(named('Function errors').toSorted()).toEqual(names.toSorted());
    const alone = FUNCTIONS.filter(({ reservedConcurrency }) => reservedConcurrency === 1).map(({ name }) => name);
    expect(named('Function throttles').toSorted()).toEqual(names.filter((name) => !alone.includes(name)).toSorted());
    expect(SILENCE_ALARMS.map(({ name }) => name).toSorted()).toEqual(alone.toSorted());
  });

  it('are raised when what must be called is not, and by nothing else that is missing', () => {
    const silent = SILENCE_ALARMS.map(({ kind }) => ALARM_KINDS[kind]);
    expect(silent.length).toBe(3);
    for (const { AlarmName, TreatMissingData, ComparisonOperator } of alarms) {
      const isSilence = silent.some((heading) => heading === headingOf(AlarmName));
      expect([AlarmName, TreatMissingData]).toEqual([AlarmName, isSilence ? 'breaching' : 'notBreaching']);
      expect(ComparisonOperator.startsWith('LessThan')).toBe(isSilence);
    }
  });

  it.each(EVENT_ALARMS)('$event is counted where it is written, and watched', ({ kind, event, functions }) => {
    const filters = deployment
      .ofType('AWS::Logs::MetricFilter')
      .filter(({ properties }) => JSON.stringify(properties['FilterPattern']).includes(event));
    expect(filters.length).toBe(functions.length);
    for (const { properties } of filters) expect(properties['FilterPattern']).toBe(`{ $.event = "${event}" }`);
    expect(alarmsOf(ALARM_KINDS[kind]).map(({ text }) => text.includes(`"${event}"`))).toEqual([true]);
  });

  it('tell the topic of the settings, which alarms may publish to over TLS', () => {
    expect(alarms.every(({ AlarmActions }) => AlarmActions.length === 1)).toBe(true);
    const [subscription] = deployment.ofType('AWS::SNS::Subscription');
    expect(subscription?.properties).toMatchObject({ Protocol: 'email', Endpoint: address });
    const policy = JSON.stringify(deployment.ofType('AWS::SNS::TopicPolicy').map(({ properties }) => properties));
    expect(policy).toContain('"Principal":{"Service":"cloudwatch.amazonaws.com"}');
    expect(policy).toContain('"aws:SecureTransport":"false"');
  });
});

describe('saved queries', () => {
  const queries = deployment
    .ofType('AWS::Logs::QueryDefinition')
    .map(({ properties }) =>
      z.object({ Name: z.string(), QueryString: z.string(), LogGroupNames: z.array(z.string()) }).parse(properties),
    );

  it('ask for every event, or somebody said why not', () => {
    expect(queries.length).toBe(LOG_QUERIES.length + 1);
    const text = queries.map(({ QueryString }) => QueryString).join('\n');
    const asked = LOG_EVENTS.filter((event) => text.includes(`"${event}"`));
    const excused = Object.keys(EVENTS_WITHOUT_QUERY);
    expect(asked.length).toBeGreaterThan(10);
    expect([...asked, ...excused].toSorted()).toEqual([...LOG_EVENTS].toSorted());
    for (const reason of Object.values(EVENTS_WITHOUT_QUERY)) expect(reason.length).toBeGreaterThan(20);
  });

  it('look through the logs of every function', () => {
    for (const { LogGroupNames } of queries) expect(LogGroupNames.length).toBe(FUNCTIONS.length);
  });
});

describe('the dashboard', () => {
  it('shows every alarm and every function', () => {
    const [dashboard] = deployment.ofType('AWS::CloudWatch::Dashboard');
    const body = String(dashboard?.properties['DashboardBody']);
    const parsed: unknown = JSON.parse(body);
    expect(parsed).toHaveProperty('widgets');
    for (const { name } of FUNCTIONS) expect([name, body.includes(`"label":"${name}"`)]).toEqual([name, true]);
    expect(body.match(/"arn:aws:cloudwatch|Alarm[0-9A-F]*\.Arn|\.Arn"/gu)?.length ?? 0).toBeGreaterThanOrEqual(
      alarms.length,
    );
  });
});
