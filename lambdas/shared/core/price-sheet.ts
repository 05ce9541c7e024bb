import * as z from 'zod';

/**
 * List prices of one region on one day. A price that is not here is unknown, and so is everything in a region without a
 * sheet: nothing is ever taken from another region. `verified` means read from the AWS Price List API.
 */
export const PRICE_SHEET_FORMAT = 1;

const PriceSchema = z.strictObject({
  usd: z.number().positive(),
  /** Where the number was read. */
  source: z.string().min(1),
  verified: z.boolean(),
});
export type Price = z.infer<typeof PriceSchema>;

const MachinePriceSchema = z.strictObject({
  vCpus: z.int().positive(),
  /** An hour on demand with Linux; without a licence. */
  hour: PriceSchema,
  /** An hour of spot capacity as it was when the sheet was made; it moves all the time. */
  spotHour: PriceSchema.exactOptional(),
});

/** What one of each costs, the unit in the name. Requests and events are priced one by one. */
export const UNIT_PRICES = [
  'windowsVCpuHour',
  'volumeGiBMonth',
  'publicAddressHour',
  'transferOutGiB',
  'stateTransition',
  'functionGiBSecond',
  'functionRequest',
  'tableWriteUnit',
  'tableReadUnit',
  'objectPut',
  'objectGet',
  'objectGiBMonth',
  'event',
  'scheduledInvocation',
] as const;
export type UnitPrice = (typeof UNIT_PRICES)[number];

const InstanceTypeSchema = z.string().regex(/^[a-z][a-z0-9-]*\.[a-z0-9-]+$/u);

export const PriceSheetSchema = z.strictObject({
  formatVersion: z.literal(PRICE_SHEET_FORMAT),
  region: z.string().regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/u),
  currency: z.literal('USD'),
  /** Day on which the sheet was made or last read again. */
  date: z.iso.date(),
  source: z.string().min(1),
  machines: z.record(InstanceTypeSchema, MachinePriceSchema),
  prices: z.partialRecord(z.enum(UNIT_PRICES), PriceSchema),
});
export type PriceSheet = z.infer<typeof PriceSheetSchema>;

/** By region; the region inside each sheet is its key. */
export const PriceSheetsSchema = z
  .record(z.string(), PriceSheetSchema)
  .refine((sheets) => Object.entries(sheets).every(([region, sheet]) => sheet.region === region), {
    error: 'each sheet must stand under its own region',
  });
export type PriceSheets = z.infer<typeof PriceSheetsSchema>;

/** The price of one unit in USD; null where the sheet has none. */
export function unitUsd(sheet: PriceSheet | null, name: UnitPrice): number | null {
  return sheet?.prices[name]?.usd ?? null;
}

/** The prices by their path, `machines.<type>.hour` and `prices.<name>`: for comparing and printing sheets. */
export function pricesByPath(sheet: PriceSheet): ReadonlyMap<string, Price> {
  const found = new Map<string, Price>();
  for (const [type, machine] of Object.entries(sheet.machines)) {
    found.set(`machines.${type}.hour`, machine.hour);
    if (machine.spotHour !== undefined) found.set(`machines.${type}.spotHour`, machine.spotHour);
  }
  for (const name of UNIT_PRICES) {
    const price = sheet.prices[name];
    if (price !== undefined) found.set(`prices.${name}`, price);
  }
  return found;
}

export interface PriceChange {
  readonly path: string;
  /** Null for a price that is new. */
  readonly before: number | null;
  /** Null for a price that vanished. */
  readonly after: number | null;
  /** Vanished, or changed by more than the factor: only taken when told so. */
  readonly isSuspect: boolean;
}

/** A price that moves by more than this is taken for a mistake in what was read. */
const LARGEST_FACTOR = 5;

/** What differs between two sheets of one region, in path order. */
export function priceChanges(before: PriceSheet | null, after: PriceSheet): readonly PriceChange[] {
  const old = before === null ? new Map<string, Price>() : pricesByPath(before);
  const now = pricesByPath(after);
  return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((path): PriceChange[] => {
    const [from, to] = [old.get(path)?.usd ?? null, now.get(path)?.usd ?? null];
    return from === to ? [] : [{ path, before: from, after: to, isSuspect: isSuspect(from, to) }];
  });
}

function isSuspect(from: number | null, to: number | null): boolean {
  if (from === null) return false;
  return to === null || to > from * LARGEST_FACTOR || to < from / LARGEST_FACTOR;
}
