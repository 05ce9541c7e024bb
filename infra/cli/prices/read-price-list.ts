import * as z from 'zod';
import type { PricingClient } from '@aws-sdk/client-pricing';
import { RemoteError } from '#cli/remote/remote-error';
import type { PriceQuestion } from './price-questions.ts';

/** What we read of one product of the price list; the rest of it is not ours to judge. */
const ProductSchema = z.object({
  product: z.object({ sku: z.string(), attributes: z.record(z.string(), z.string()) }),
  terms: z.object({
    OnDemand: z
      .record(
        z.string(),
        z.object({
          priceDimensions: z.record(
            z.string(),
            z.object({
              unit: z.string(),
              beginRange: z.string().optional(),
              pricePerUnit: z.record(z.string(), z.string()),
            }),
          ),
        }),
      )
      .optional(),
  }),
});

/** A price as the list has it. */
export interface ListedPrice {
  readonly usd: number;
  readonly sku: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Far more than any of our questions has products. */
const MOST_PAGES = 50;

/**
 * The one price that a question means; null when the list has none.
 * @throws RemoteError when there are several that differ, when a product has another shape, and when AWS does not answer.
 */
export async function readPrice(
  client: PricingClient,
  region: string,
  question: PriceQuestion,
): Promise<ListedPrice | null> {
  const found = (await productsOf(client, region, question))
    .filter(({ attributes }) => isMeant(attributes, region, question))
    .flatMap((product) => firstPaidTier(product, question));
  const prices = new Set(found.map(({ usd }) => usd));
  if (prices.size <= 1) return found[0] ?? null;
  const seen = found.map(({ usd, sku, attributes }) => `${sku} (${attributes['usagetype'] ?? '?'}) ${String(usd)}`);
  throw listError(`${questionText(region, question)} has ${String(prices.size)} prices: ${seen.join(', ')}`);
}

type Product = z.infer<typeof ProductSchema>;
interface Read extends Pick<ListedPrice, 'sku' | 'attributes'> {
  readonly terms: NonNullable<Product['terms']['OnDemand']>;
}

async function productsOf(client: PricingClient, region: string, question: PriceQuestion): Promise<readonly Read[]> {
  const { GetProductsCommand } = await import('@aws-sdk/client-pricing');
  const filters = Object.entries({ ...question.filters, [question.regionField]: region });
  const products: Read[] = [];
  let token: string | undefined;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const answer = await client.send(
      new GetProductsCommand({
        ServiceCode: question.serviceCode,
        FormatVersion: 'aws_v1',
        MaxResults: 100,
        Filters: filters.map(([field, value]) => ({ Type: 'TERM_MATCH', Field: field, Value: value })),
        ...(token === undefined ? {} : { NextToken: token }),
      }),
    );
    for (const text of answer.PriceList ?? []) products.push(productOf(String(text), region, question));
    token = answer.NextToken;
    if (token === undefined || token === '') return products;
  }
  throw listError(`${questionText(region, question)} has more than ${String(MOST_PAGES)} pages`);
}

function productOf(text: string, region: string, question: PriceQuestion): Read {
  const parsed = ProductSchema.safeParse(jsonOf(text));
  if (!parsed.success)
    throw listError(
      `${questionText(region, question)} was answered with a product of another shape: ${text.slice(0, 200)}`,
    );
  const { product, terms } = parsed.data;
  return { sku: product.sku, attributes: product.attributes, terms: terms.OnDemand ?? {} };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The region's own product: filters are matched by AWS, and again here, since an unknown filter may be let through. */
function isMeant(attributes: ListedPrice['attributes'], region: string, question: PriceQuestion): boolean {
  const wanted = Object.entries({ ...question.filters, [question.regionField]: region });
  if (wanted.some(([field, value]) => attributes[field] !== value)) return false;
  const usageType = (attributes['usagetype'] ?? '').replace(/^(?:[A-Z]{2,4}\d|EU)-/u, '');
  return question.usageType === null || question.usageType.test(usageType);
}

/** Tiers that cost nothing are a free allowance, which an estimate does not count on. */
function firstPaidTier({ sku, attributes, terms }: Read, { unit }: PriceQuestion): readonly ListedPrice[] {
  const tiers = Object.values(terms)
    .flatMap(({ priceDimensions }) => Object.values(priceDimensions))
    .filter((tier) => tier.unit.toLowerCase() === unit)
    .map((tier) => ({ from: Number(tier.beginRange ?? '0'), usd: Number(tier.pricePerUnit['USD']) }))
    .filter(({ usd }) => Number.isFinite(usd) && usd > 0)
    .sort((one, other) => one.from - other.from);
  return tiers.slice(0, 1).map(({ usd }) => ({ usd, sku, attributes }));
}

function questionText(region: string, { serviceCode, filters }: PriceQuestion): string {
  const told = Object.entries(filters).map(([field, value]) => `${field} ${value}`);
  return `the price list of ${serviceCode} in ${region}${told.length === 0 ? '' : ` (${told.join(', ')})`}`;
}

function listError(message: string): RemoteError {
  return new RemoteError('host', `${message}; nothing was written`);
}
