import { expect, it } from 'vitest';
import { objectKeys, rowKeys } from '#core/keys';
import { utf8Bytes } from '#core/utf8';
import { UnitDetailSchema, type UnitDetail } from '#contracts/api-schemas';
import { ATTEMPT, runTo, UNIT } from '#test/builders/attempt-run';
import { API_POLICY, call } from '#test/builders/api-call';
import { World } from '#test/builders/world';

const MOST_BYTES = 5_000_000;
const FILES = 900;
/** As long as links get that are signed by a session: keys of a thousand characters, each escaped. */
const LINK = `https://bucket.s3.us-east-1.amazonaws.com/${'%C3%A9'.repeat(1_000)}?X-Amz-Security-Token=${'t'.repeat(1_500)}`;
/** Letters of two bytes: what counts are bytes. */
const pathOf = (at: number): string => `output/${String(at).padStart(5, '0')}-${'é'.repeat(400)}`;

async function withManyFiles(): Promise<World> {
  const world = new World({ policy: API_POLICY });
  await runTo(world, 'closeUnit');
  const runDir = (await world.attempt(ATTEMPT)).runDir ?? '';
  const files = Array.from({ length: FILES }, (_, at) => ({
    path: pathOf(at),
    sizeBytes: 1,
    sha256: 'a'.repeat(64),
  }));
  const key = objectKeys.run(runDir, 'record.json');
  await world.artifacts.put({ bucket: 'artifacts', key }, JSON.stringify({ files }));
  world.artifacts.signGet = () => Promise.resolve(LINK);
  return world;
}

async function page(world: World, query: Record<string, string>): Promise<UnitDetail> {
  return UnitDetailSchema.parse(await call(world, 'getUnit', { id: UNIT, query }));
}

it('pages of links end before the answer is too large for a function to give, and hold each file once', async () => {
  const world = await withManyFiles();
  const seen: string[] = [];
  let pages = 0;
  let cursor: string | null = null;
  do {
    const detail: UnitDetail = await page(world, {
      attempt: '1',
      limit: '1000',
      ...(cursor === null ? {} : { cursor }),
    });
    expect(utf8Bytes(JSON.stringify(detail))).toBeLessThan(MOST_BYTES);
    const [attempt] = detail.attemptList;
    seen.push(...(attempt?.files.map(({ path }) => path) ?? []));
    cursor = attempt?.filesCursor ?? null;
    pages += 1;
  } while (cursor !== null && pages <= FILES);
  expect(pages).toBeGreaterThan(1);
  expect(seen).toEqual([...Array.from({ length: FILES }, (_, at) => pathOf(at)), 'record.json']);
});

it('all attempts of a unit share one answer', async () => {
  const world = await withManyFiles();
  const attempt = await world.attempt(ATTEMPT);
  for (let number = 2; number <= 8; number += 1) {
    const attemptId = `${UNIT}.${String(number)}`;
    const body = { ...attempt, attemptId, attempt: number, gradeNumber: 0 };
    await world.store.write([{ put: { ...rowKeys.attempt(attemptId), body }, when: 'any' }]);
  }
  const detail = await page(world, { limit: '1000' });
  expect(detail.attemptList.map(({ files }) => files.length > 0)).toEqual(Array.from({ length: 8 }, () => true));
  expect(utf8Bytes(JSON.stringify(detail))).toBeLessThan(MOST_BYTES);
});
