import { PriceSheetsSchema, type PriceSheet } from '#core/price-sheet';
import committed from './price-sheets.json' with { type: 'json' };

const sheets = PriceSheetsSchema.parse(committed);

/** The committed sheet of a region; null for a region without one, and where there is no region. */
export function priceSheetOf(region: string | null): PriceSheet | null {
  return region !== null && Object.hasOwn(sheets, region) ? (sheets[region] ?? null) : null;
}
