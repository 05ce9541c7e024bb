import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { canonicalJson } from '#core/canonical-json';
import * as rows from '#core/rows';
import { UsageRowSchema } from '#core/usage-row';

/** What the rows in stores out there look like. */
const STORED: Readonly<Record<string, string>> = {
  AdmitWaitSchema: '1a807356d88a142a',
  AttemptRowSchema: '8cfcc076094a1210',
  CommandRowSchema: '6f8d7a11a8396354',
  CoolingPoolRowSchema: '72b6b6f16932231a',
  DetachedRowSchema: 'b28a1cbe30d748fe',
  LaunchBrakeRowSchema: 'ce219f8e62fe3ec8',
  LaunchRowSchema: 'f634a47a55179789',
  SightingSchema: '2c15c88d8b6aa6c4',
  SlotCountersSchema: '2a7a99f05ab1d3b8',
  SlotRowSchema: 'd8e46a44e09a9579',
  StaticAttachmentRowSchema: '5cef9e2eabef7633',
  StaticLockRowSchema: 'dfdcc57e2545a76c',
  StateErrorSchema: 'edc7b90f2b1738da',
  SweepRowSchema: '08a58e2732ad7adb',
  TeardownRowSchema: '996315578a0470d5',
  UnitRowSchema: '4ac4b336f7c3fa88',
  UsageRowSchema: 'fc223da940a18c8c',
  WaitRowSchema: 'dd20c154ea4d98e5',
};

const schemas = Object.entries<unknown>({ ...rows, UsageRowSchema }).flatMap(([name, value]): [string, z.ZodType][] =>
  value instanceof z.ZodType ? [[name, value]] : [],
);

describe('stored rows', () => {
  it('are known, all of them', () => {
    expect(schemas.map(([name]) => name).toSorted()).toEqual(Object.keys(STORED).toSorted());
    expect(schemas.length).toBeGreaterThan(5);
    expect(rows.STORED_FORMAT).toBe(1);
  });

  it.each(schemas)('%s has the shape that stores hold', (name, schema) => {
    const shape = canonicalJson(z.toJSONSchema(schema, { io: 'input' }));
    const hash = createHash('sha256').update(shape).digest('hex').slice(0, 16);
    expect(
      hash,
      `${name} has changed. Rows of the old shape are in stores already. A new field that may be absent needs .default() ` +
        'and nothing else. Any other change needs a new STORED_FORMAT and a reader of the old one in #core/rows. ' +
        `Then put the new hash here: ${name}: '${hash}'.`,
    ).toBe(STORED[name]);
  });
});
