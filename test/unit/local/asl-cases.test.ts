import { describe, expect, it } from 'vitest';

import { type AslCase, DOC, type Expected } from './asl-case.ts';
import { DATA_CASES } from './asl-cases-data.ts';
import { ERROR_CASES } from './asl-cases-errors.ts';
import { MAP_CASES } from './asl-cases-map.ts';
import { REFUSED_CASES } from './asl-cases-refused.ts';
import { RETRY_CASES } from './asl-cases-retry.ts';
import { STATE_CASES } from './asl-cases-states.ts';
import { AslHarness } from './asl-harness.ts';

const CASES: readonly AslCase[] = [
  ...STATE_CASES,
  ...DATA_CASES,
  ...ERROR_CASES,
  ...RETRY_CASES,
  ...MAP_CASES,
  ...REFUSED_CASES,
];

/** What a run gave, as far as a case looks at it. */
async function run({ definition, input, objects, expected }: AslCase): Promise<Expected> {
  const harness = new AslHarness({ random: () => 0.5 });
  for (const [key, body] of Object.entries(objects ?? {})) harness.objects.set(key, body);
  const handle = harness.start(definition, input ?? {});
  const { status, output, error, cause } = await handle.done;
  const given: Record<keyof Omit<Expected, 'refused'>, unknown> = {
    status,
    output: output === undefined ? undefined : JSON.parse(output),
    error,
    cause:
      cause !== undefined && expected.cause !== undefined && cause.includes(expected.cause) ? expected.cause : cause,
    seconds: harness.seconds,
    historyEvents: handle.historyEventCount,
  };
  expect(harness.interpreter.runningExecutions).toBe(0);
  expect(harness.interpreter.waitingTokens).toBe(0);
  expect(harness.historyOf(handle.executionArn)).toHaveLength(handle.historyEventCount);
  return Object.fromEntries(Object.keys(expected).map((key) => [key, given[key as keyof typeof given]]));
}

describe('ASL cases', () => {
  it('are at least 60, each of a feature of its own, citing a page of the documentation', () => {
    expect(CASES.length).toBeGreaterThanOrEqual(60);
    expect(new Set(CASES.map(({ feature }) => feature)).size).toBe(CASES.length);
    const pages: readonly string[] = Object.values(DOC);
    for (const { doc } of CASES) expect(pages).toContain(doc);
  });

  for (const one of CASES) {
    it(`${one.feature} [${one.doc}]`, async () => {
      expect(Object.keys(one.expected)).not.toHaveLength(0);
      if (one.expected.refused === undefined) expect(await run(one)).toEqual(one.expected);
      else expect(refusalOf(one.definition)).toContain(one.expected.refused);
    });
  }
});

function refusalOf(definition: unknown): string {
  try {
    new AslHarness().interpreter.register('machine', definition);
  } catch (error) {
    if (error instanceof Error && error.name === 'InvalidDefinition') return error.message;
    throw error;
  }
  return 'accepted';
}
