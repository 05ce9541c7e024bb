import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError, problemAt } from '#core/located';
import { PriceSheetsSchema, type PriceSheet, type PriceSheets } from '#core/price-sheet';

/** The sheets that functions are bundled with. */
export const SHEETS_FILE = path.join(
  path.dirname(fileURLToPath(import.meta.url)),
  '../../../lambdas/shared/contracts/price-sheets.json',
);

/** @throws ConfigError for a file that holds no price sheets. */
export async function readSheets(file: string): Promise<PriceSheets> {
  const parsed = PriceSheetsSchema.safeParse(await jsonOf(file));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw fileError(file, `${issue?.path.join('.') ?? ''} ${issue?.message ?? 'has another shape'}`.trim());
}

/** Puts a sheet under its region, in one step: whoever reads the file sees all of it, the old or the new. */
export async function writeSheet(file: string, sheet: PriceSheet): Promise<void> {
  const sheets = { ...(await readSheets(file)), [sheet.region]: sheet };
  const ordered = Object.fromEntries(Object.entries(sheets).sort(([one], [other]) => (one < other ? -1 : 1)));
  const beside = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(beside, 'wx');
    try {
      await handle.writeFile(`${JSON.stringify(PriceSheetsSchema.parse(ordered), null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, file);
  } finally {
    await rm(beside, { force: true });
  }
}

async function jsonOf(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    throw fileError(file, error instanceof Error ? error.message : String(error));
  }
}

function fileError(file: string, got: string): ConfigError {
  const text = {
    what: 'the price sheets cannot be read',
    got,
    allowed: 'the file as `examhall prices refresh` writes it',
    action: 'take the committed one back, then refresh it',
  };
  return new ConfigError([problemAt({ file, line: 1, column: 1 }, text)]);
}
