import { clientOptions, openAwsSession } from '#cli/remote/aws-session';
import { commandLineError } from '#cli/remote/command-line-error';
import { RemoteError } from '#cli/remote/remote-error';
import { priceChanges, pricesByPath, type PriceChange, type PriceSheet } from '#core/price-sheet';
import { readSheet } from './refresh-sheet.ts';
import { readSheets, SHEETS_FILE, writeSheet } from './sheet-file.ts';

export interface RefreshOptions {
  readonly region: string;
  readonly type: readonly string[];
  readonly profile?: string;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

interface Surroundings {
  readonly file: string;
  readonly now: Date;
  readonly print: (text: string) => void;
}

/** Where the Price List API answers; it knows the prices of all regions. */
const API_REGION = 'us-east-1';
/** A region without a sheet is asked for the machines of this one's. */
const MODEL_REGION = 'us-east-1';

const here = (): Surroundings => ({
  file: SHEETS_FILE,
  now: new Date(),
  print: (text) => process.stdout.write(text),
});

/**
 * `examhall prices refresh`: reads, compares, shows, and writes only when nothing is suspect or the caller insists.
 * @returns false when suspect prices kept it from writing.
 * @throws RemoteError when a price cannot be read; then nothing is written.
 */
export async function refreshPrices(options: RefreshOptions, around: Surroundings = here()): Promise<boolean> {
  const { region } = options;
  checkNames(options);
  const sheets = await readSheets(around.file);
  const before = Object.hasOwn(sheets, region) ? (sheets[region] ?? null) : null;
  const types = [...Object.keys((before ?? sheets[MODEL_REGION])?.machines ?? {}), ...options.type];
  const today = around.now.toISOString().slice(0, 10);
  const after = await readFrom(options, { region, types, today, before });
  const changes = priceChanges(before, after);
  const isHeld = options.force !== true && changes.some(({ isSuspect }) => isSuspect);
  const isWritten = !isHeld && options.dryRun !== true;
  if (isWritten) await writeSheet(around.file, after);
  const told = { region, date: today, prices: pricesByPath(after).size, changes, written: isWritten };
  around.print(
    options.json === true ? `${JSON.stringify(told)}\n` : textOf({ before, after, changes, isHeld, isWritten }),
  );
  return !isHeld;
}

async function readFrom({ profile }: RefreshOptions, wanted: Parameters<typeof readSheet>[1]): Promise<PriceSheet> {
  const { PricingClient } = await import('@aws-sdk/client-pricing');
  const session = await openAwsSession(
    { region: API_REGION, ...(profile === undefined ? {} : { profile }) },
    process.env,
  );
  // Many questions in a row: the client slows down before the service refuses.
  const client = new PricingClient({ ...clientOptions(session), retryMode: 'adaptive' });
  try {
    return await readSheet(client, wanted);
  } catch (error) {
    throw explained(error);
  } finally {
    client.destroy();
  }
}

const ACCESS =
  /^(?:AccessDenied|UnrecognizedClient|InvalidClientTokenId|ExpiredToken|CredentialsProvider|InvalidSignature)/u;

const GIVE_ACCESS = 'give credentials that may call pricing:GetProducts (--profile, AWS_PROFILE or the environment)';

function explained(error: unknown): Error {
  if (error instanceof RemoteError) {
    if (error.kind !== 'access') return error;
    return new RemoteError('access', `${error.message}; nothing was written: ${GIVE_ACCESS}`, { cause: error });
  }
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
  const kind = ACCESS.test(name) ? 'access' : 'host';
  const action = kind === 'access' ? GIVE_ACCESS : 'try again later';
  return new RemoteError(
    kind,
    `the Price List API did not answer: ${name}: ${message}; nothing was written: ${action}`,
    {
      cause: error,
    },
  );
}

function checkNames({ region, type }: RefreshOptions): void {
  if (!/^[a-z]{2}(?:-[a-z]+)+-\d$/u.test(region)) {
    throw commandLineError({
      what: '--region is no AWS region',
      got: JSON.stringify(region),
      allowed: 'a name such as eu-central-1',
      action: 'name the region that the stage is deployed in',
    });
  }
  for (const name of type) {
    if (/^[a-z][a-z0-9-]*\.[a-z0-9-]+$/u.test(name)) continue;
    throw commandLineError({
      what: '--type is no EC2 instance type',
      got: JSON.stringify(name),
      allowed: 'a name such as m7i.xlarge',
      action: 'write family and size with a dot',
    });
  }
}

interface Told {
  readonly before: PriceSheet | null;
  readonly after: PriceSheet;
  readonly changes: readonly PriceChange[];
  readonly isHeld: boolean;
  readonly isWritten: boolean;
}

function textOf({ before, after, changes, isHeld, isWritten }: Told): string {
  const from = before === null ? 'no sheet before' : `sheet of ${before.date}`;
  const lines = [`${after.region}: ${String(pricesByPath(after).size)} prices read, ${from}`];
  for (const { path, before: old, after: now, isSuspect } of changes) {
    lines.push(`  ${isSuspect ? '!' : ' '} ${path}: ${usd(old)} -> ${usd(now)}`);
  }
  if (changes.length === 0) lines.push('  no price changed');
  lines.push(endOf(isHeld, isWritten));
  return `${lines.join('\n')}\n`;
}

function endOf(isHeld: boolean, isWritten: boolean): string {
  if (isHeld)
    return 'Nothing was written: prices marked ! vanished or changed by more than a factor of 5. Look at them, then add --force.';
  return isWritten ? 'Written. It holds from the next deployment on.' : 'Nothing was written (--dry-run).';
}

function usd(price: number | null): string {
  return price === null ? 'none' : String(price);
}
