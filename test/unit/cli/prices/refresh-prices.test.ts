import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { GetProductsCommand, PricingClient, type Filter, type GetProductsCommandInput } from '@aws-sdk/client-pricing';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refreshPrices, type RefreshOptions } from '#cli/prices/refresh-prices';
import { PriceSheetsSchema, UNIT_PRICES, type PriceSheet } from '#core/price-sheet';
import { entryOf, listOf, machineOf, type Listed } from './price-list.ts';

const pricing = mockClient(PricingClient);
const PRICES = Object.fromEntries(UNIT_PRICES.map((name, index) => [name, `0.00${String(index + 1)}`]));
const REGION = 'us-east-1';
const WHOLE: readonly Listed[] = [
  ...listOf(REGION, PRICES),
  ...machineOf(REGION, 'm5.large', { linux: '0.0960000000', windows: '0.1880000000' }),
];

let folder = '';
let file = '';
let printed: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-prices-'));
  file = path.join(folder, 'price-sheets.json');
  printed = [];
  pricing.reset();
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Answers as the service does: what matches all filters, a page at a time. */
function answerWith(products: readonly Listed[], pageSize = 100): void {
  pricing.on(GetProductsCommand).callsFake((input: GetProductsCommandInput) => {
    const matching = products.filter(
      ({ serviceCode, attributes }) =>
        serviceCode === input.ServiceCode &&
        (input.Filters ?? []).every(({ Field, Value }: Filter) => attributes[Field ?? ''] === Value),
    );
    const start = Number(input.NextToken ?? '0');
    const next = start + pageSize < matching.length ? { NextToken: String(start + pageSize) } : {};
    return {
      PriceList: matching.slice(start, start + pageSize).map((each, at) => entryOf(each, `SKU${String(at)}`)),
      ...next,
    };
  });
}

const before = (usd: number): PriceSheet =>
  PriceSheetsSchema.parse({
    [REGION]: {
      formatVersion: 1,
      region: REGION,
      currency: 'USD',
      date: '2026-01-01',
      source: 'from memory',
      machines: { 'm5.large': { vCpus: 2, hour: { usd, source: 'from memory', verified: false } } },
      prices: {},
    },
  })[REGION] as PriceSheet;

const store = async (sheet: PriceSheet): Promise<void> => {
  await writeFile(file, JSON.stringify({ [sheet.region]: sheet }));
};
const stored = async (): Promise<Readonly<Record<string, PriceSheet>>> =>
  PriceSheetsSchema.parse(JSON.parse(await readFile(file, 'utf8')));

async function refresh(options: Partial<RefreshOptions> = {}): Promise<boolean> {
  const around = { file, now: new Date('2026-12-01T10:00:00Z'), print: (text: string) => void printed.push(text) };
  return await refreshPrices({ region: REGION, type: [], ...options }, around);
}

describe('prices refresh', () => {
  it('reads every price, marks it verified with its source, and leaves no other file', async () => {
    await store(before(0.1));
    answerWith(WHOLE);
    expect(await refresh()).toBe(true);
    const sheet = (await stored())[REGION];
    expect(sheet?.date).toBe('2026-12-01');
    expect(sheet?.machines['m5.large']).toEqual({
      vCpus: 2,
      hour: { usd: 0.096, source: 'AWS Price List, sku SKU0, 2026-12-01', verified: true },
    });
    expect(Object.keys(sheet?.prices ?? {}).toSorted()).toEqual([...UNIT_PRICES].toSorted());
    expect(Object.values(sheet?.prices ?? {}).every(({ verified }) => verified)).toBe(true);
    expect(sheet?.prices.stateTransition?.usd).toBe(Number(PRICES['stateTransition']));
    expect(sheet?.prices.windowsVCpuHour?.usd).toBe(0.046);
    expect(await readdir(folder)).toEqual(['price-sheets.json']);
    expect(printed.join('')).toContain('machines.m5.large.hour: 0.1 -> 0.096');
  });

  it('asks in us-east-1 for shared Linux machines with nothing installed', async () => {
    await store(before(0.1));
    answerWith(WHOLE);
    await refresh();
    const filters: readonly Filter[] = pricing.commandCalls(GetProductsCommand)[0]?.args[0].input.Filters ?? [];
    expect(Object.fromEntries(filters.map(({ Field, Value }) => [String(Field), Value]))).toEqual({
      instanceType: 'm5.large',
      operatingSystem: 'Linux',
      tenancy: 'Shared',
      preInstalledSw: 'NA',
      capacitystatus: 'Used',
      licenseModel: 'No License required',
      regionCode: REGION,
    });
  });

  it('reads every page, and takes no other product of a service for the one that is meant', async () => {
    await store(before(0.1));
    const others = Array.from({ length: 7 }, (_, index): Listed => ({
      serviceCode: 'AmazonStates',
      attributes: { regionCode: REGION, usagetype: `USE1-StepFunctions-Request-${String(index)}` },
      unit: 'StateTransitions',
      tiers: [['0', '9']],
    }));
    answerWith([...others, ...WHOLE], 2);
    await refresh();
    expect((await stored())[REGION]?.prices.stateTransition?.usd).toBe(Number(PRICES['stateTransition']));
  });

  it.each<[string, readonly Listed[]]>([
    ['vanished', WHOLE.filter(({ attributes }) => attributes['instanceType'] === undefined)],
    [
      'rose by more than a factor of 5',
      [...listOf(REGION, PRICES), ...machineOf(REGION, 'm5.large', { linux: '0.51' })],
    ],
    [
      'fell by more than a factor of 5',
      [...listOf(REGION, PRICES), ...machineOf(REGION, 'm5.large', { linux: '0.019' })],
    ],
  ])('does not take a price that %s unless it is told to', async (_, list) => {
    await store(before(0.1));
    const text = await readFile(file, 'utf8');
    answerWith(list);
    expect(await refresh()).toBe(false);
    expect(await readFile(file, 'utf8')).toBe(text);
    expect(printed.join('')).toMatch(/! machines\.m5\.large\.hour: 0\.1 -> .*\n(?:.*\n)*Nothing was written/u);
    expect(await refresh({ force: true })).toBe(true);
    expect((await stored())[REGION]?.date).toBe('2026-12-01');
  });

  it('writes nothing when told only to show', async () => {
    await store(before(0.1));
    const text = await readFile(file, 'utf8');
    answerWith(WHOLE);
    expect(await refresh({ dryRun: true, json: true })).toBe(true);
    expect(await readFile(file, 'utf8')).toBe(text);
    expect(JSON.parse(printed.join(''))).toMatchObject({ region: REGION, written: false });
  });

  it('makes a sheet for another region from the types of the first, and changes no other sheet', async () => {
    await store(before(0.1));
    const there = 'eu-central-1';
    answerWith([
      ...WHOLE,
      ...listOf(there, { stateTransition: '0.00003' }),
      ...machineOf(there, 'm5.large', { linux: '0.115' }),
    ]);
    expect(await refresh({ region: there, type: ['m99.large'] })).toBe(true);
    const sheets = await stored();
    expect(Object.keys(sheets)).toEqual([there, REGION]);
    expect(sheets[REGION]).toEqual(before(0.1));
    expect(Object.keys(sheets[there]?.machines ?? {})).toEqual(['m5.large']);
    expect(Object.keys(sheets[there]?.prices ?? {})).toEqual(['stateTransition']);
  });

  it.each<[string, () => void, RegExp]>([
    [
      'two prices fit a question',
      () => {
        answerWith([...WHOLE, ...machineOf(REGION, 'm5.large', { linux: '0.2' })]);
      },
      /AmazonEC2 in us-east-1 .*has 2 prices: SKU0 \(BoxUsage:m5\.large\) 0\.096.*nothing was written/u,
    ],
    [
      'a product has another shape',
      () => void pricing.on(GetProductsCommand).resolves({ PriceList: ['{"product":1}'] }),
      /product of another shape.*nothing was written/u,
    ],
    [
      'the last question fails',
      () => {
        answerWith(WHOLE);
        pricing
          .on(GetProductsCommand, { ServiceCode: 'AWSEvents' })
          .rejects(Object.assign(new Error('slow down'), { name: 'ThrottlingException' }));
      },
      /did not answer: ThrottlingException: slow down; nothing was written: try again/u,
    ],
    [
      'the caller may not ask',
      () =>
        void pricing.on(GetProductsCommand).rejects(Object.assign(new Error('no'), { name: 'AccessDeniedException' })),
      /pricing:GetProducts/u,
    ],
    [
      'it is given pages without end',
      () => void pricing.on(GetProductsCommand).resolves({ PriceList: [], NextToken: 'again' }),
      /more than 50 pages/u,
    ],
  ])('writes nothing at all when %s', async (_, arrange, message) => {
    await store(before(0.1));
    const text = await readFile(file, 'utf8');
    arrange();
    await expect(refresh({ force: true })).rejects.toMatchObject({
      name: 'RemoteError',
      message: expect.stringMatching(message) as string,
    });
    expect(await readFile(file, 'utf8')).toBe(text);
    expect(await readdir(folder)).toEqual(['price-sheets.json']);
  });

  it.each<[string, Partial<RefreshOptions>]>([
    ['a region that is none', { region: 'Frankfurt' }],
    ['a type that is none', { type: ['large'] }],
  ])('refuses %s before it asks', async (_, options) => {
    await store(before(0.1));
    await expect(refresh(options)).rejects.toMatchObject({ name: 'ConfigError' });
    expect(pricing.calls()).toEqual([]);
  });

  it('refuses a file that holds no sheets, and leaves it as it is', async () => {
    await writeFile(file, '{"us-east-1": {}}');
    answerWith(WHOLE);
    await expect(refresh()).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringContaining(file) as string,
    });
    expect(await readFile(file, 'utf8')).toBe('{"us-east-1": {}}');
  });
});
