import type { PricingClient } from '@aws-sdk/client-pricing';
import { PRICE_SHEET_FORMAT, PriceSheetSchema, type Price, type PriceSheet, type UnitPrice } from '#core/price-sheet';
import { machineQuestion, PRICE_QUESTIONS } from './price-questions.ts';
import { readPrice, type ListedPrice } from './read-price-list.ts';

interface Wanted {
  readonly region: string;
  /** Instance types to ask for; those that the region does not have are left out. */
  readonly types: readonly string[];
  /** `YYYY-MM-DD` */
  readonly today: string;
  readonly before: PriceSheet | null;
}

/** Reads every price anew. The first question that fails ends it: a sheet is whole or there is none. */
export async function readSheet(client: PricingClient, wanted: Wanted): Promise<PriceSheet> {
  const { region, today } = wanted;
  const read = (listed: ListedPrice): Price => ({
    usd: listed.usd,
    source: `AWS Price List, sku ${listed.sku}, ${today}`,
    verified: true,
  });
  const machines: PriceSheet['machines'] = {};
  for (const type of [...new Set(wanted.types)].sort()) {
    const listed = await readPrice(client, region, machineQuestion(type, 'Linux'));
    if (listed === null) continue;
    const spot = wanted.before?.machines[type]?.spotHour;
    machines[type] = {
      vCpus: Number(listed.attributes['vcpu']),
      hour: read(listed),
      ...(spot === undefined ? {} : { spotHour: spot }),
    };
  }
  const prices: Partial<Record<UnitPrice, Price>> = {};
  for (const [name, question] of Object.entries(PRICE_QUESTIONS) as [UnitPrice, (typeof PRICE_QUESTIONS)['event']][]) {
    const listed = await readPrice(client, region, question);
    if (listed !== null) prices[name] = read(listed);
  }
  const licence = await windowsLicence(client, wanted, machines);
  if (licence !== null) prices.windowsVCpuHour = licence;
  const source = `AWS Price List API, read ${today}; spot prices are not in it and stay as they were`;
  return PriceSheetSchema.parse({
    formatVersion: PRICE_SHEET_FORMAT,
    region,
    currency: 'USD',
    date: today,
    source,
    machines,
    prices,
  });
}

/** Types whose licence is charged by the vCPU as on most others; burstable and GPU types have prices of their own. */
const LICENCE_TYPE = /^[cmr]\d[a-z]*\./u;
const USD_DIGITS = 1e10;

async function windowsLicence(
  client: PricingClient,
  { region, today }: Wanted,
  machines: PriceSheet['machines'],
): Promise<Price | null> {
  const [type, linux] = Object.entries(machines).find(([name]) => LICENCE_TYPE.test(name)) ?? [];
  if (type === undefined || linux === undefined) return null;
  const windows = await readPrice(client, region, machineQuestion(type, 'Windows'));
  if (windows === null) return null;
  const usd = Math.round(((windows.usd - linux.hour.usd) / linux.vCpus) * USD_DIGITS) / USD_DIGITS;
  const source = `AWS Price List, ${type} with Windows (sku ${windows.sku}) less ${type} with Linux, by vCPU, ${today}`;
  return { usd, source, verified: true };
}
