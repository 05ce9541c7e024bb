import { OBJECTS_OF_SEALED_REQUEST } from './cloud-calls.ts';
import type { BilledMachine, ControlPlaneCounts, CostFacts } from './cost-facts.ts';
import { unitUsd, type PriceSheet, type UnitPrice } from './price-sheet.ts';
import type { CostEntry, CostPart } from './record.ts';

/** Providers whose machines are the caller's own: nobody sends a bill for them. */
const WITHOUT_BILL: ReadonlySet<string> = new Set(['process', 'desktop', 'docker', 'qemu', 'static', 'noop']);

export function isWithoutBill(provider: string): boolean {
  return WITHOUT_BILL.has(provider);
}

/** EC2 bills by the second, and the first minute whole. */
const LEAST_BILLED_SECONDS = 60;
const HOUR_SECONDS = 3600;
/** The price sheets' month, as AWS divides one. */
const MONTH_HOURS = 730;
const GIB_BYTES = 1024 ** 3;

/**
 * The most that the machine, disk and address of one attempt may cost in USD; null where no sheet or no price says so.
 * Tokens are paid to somebody else, transfer and the pipeline itself are not bounded beforehand.
 */
export function attemptCostUsd(
  asked: { readonly provider: string; readonly machine: BilledMachine | null; readonly lifeSeconds: number },
  sheet: PriceSheet | null,
): number | null {
  const { provider, machine, lifeSeconds } = asked;
  if (isWithoutBill(provider)) return 0;
  if (machine === null || sheet === null) return null;
  // Reserved at the price on demand: spot may move up to it.
  const hour = hourUsd({ ...machine, isSpot: false }, sheet);
  const volumeMonth = unitUsd(sheet, 'volumeGiBMonth');
  const addressHour = machine.hasPublicAddress ? unitUsd(sheet, 'publicAddressHour') : 0;
  if (hour === null || volumeMonth === null || addressHour === null) return null;
  return billedHours(lifeSeconds) * (hour + addressHour + (machine.volumeGiB * volumeMonth) / MONTH_HOURS);
}

/** The six parts of an attempt's cost, in order. What cannot be known is unknown with the reason, never zero. */
export function costOfAttempt(facts: CostFacts, sheet: PriceSheet | null): readonly CostEntry[] {
  return [
    machinePart(facts, sheet),
    diskPart(facts, sheet),
    addressPart(facts, sheet),
    transferPart(facts, sheet),
  ].concat(orchestrationPart(facts, sheet), tokensPart(facts));
}

/** Whose amounts a reservation stands for. */
const RESERVED_PARTS: readonly CostPart[] = ['machine', 'disk', 'address'];

/**
 * What an attempt takes from its sweep's budget: everything known but the tokens, of which nobody but the agent tells.
 * Where the machine's cost is not known, what was reserved for it is taken instead.
 */
export function billedUsd(cost: readonly CostEntry[], reservedUsd: number | null): number {
  const billed = cost.filter(({ part }) => part !== 'tokens');
  const known = billed.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
  const isReserved = billed.some(({ part, usd }) => usd === null && RESERVED_PARTS.includes(part));
  return isReserved ? Math.max(known, reservedUsd ?? 0) : known;
}

const observed = (part: CostPart, usd: number, note: string): CostEntry => ({ part, basis: 'observed', usd, note });
const estimated = (part: CostPart, usd: number, note: string): CostEntry => ({ part, basis: 'estimated', usd, note });
const unknown = (part: CostPart, note: string): CostEntry => ({ part, basis: 'unknown', usd: null, note });

const NO_BILL = 'the sandbox ran on a computer of yours; nobody sends a bill for it';
const NO_SHEET = 'no price sheet for this region';

interface Measured {
  readonly machine: BilledMachine;
  readonly seconds: number;
  readonly sheet: PriceSheet;
}

/** A part that has a price for as long as the machine is there. */
function whileThere(
  part: CostPart,
  facts: CostFacts,
  sheet: PriceSheet | null,
  priced: (measured: Measured) => CostEntry,
): CostEntry {
  const { machine, machineSeconds: seconds } = facts;
  if (isWithoutBill(facts.provider)) return observed(part, 0, NO_BILL);
  if (seconds === 0) return observed(part, 0, 'no machine was launched');
  if (seconds === null) return unknown(part, 'the machine has not been seen gone: what it costs is not over');
  if (machine === null) return unknown(part, `${facts.provider} does not say what it launched`);
  return sheet === null ? unknown(part, NO_SHEET) : priced({ machine, seconds, sheet });
}

function machinePart(facts: CostFacts, sheet: PriceSheet | null): CostEntry {
  return whileThere('machine', facts, sheet, ({ machine, seconds, sheet: prices }) => {
    const hour = hourUsd(machine, prices);
    const what = `${machine.machineType} ${machine.os}${machine.isSpot ? ' spot' : ''}`;
    if (hour === null) return unknown('machine', `the price sheet of ${prices.date} has no price for ${what}`);
    return estimated('machine', billedHours(seconds) * hour, `${what}, ${seconds.toFixed(0)} s, ${sheetNote(prices)}`);
  });
}

function diskPart(facts: CostFacts, sheet: PriceSheet | null): CostEntry {
  return whileThere('disk', facts, sheet, ({ machine, seconds, sheet: prices }) => {
    const month = unitUsd(prices, 'volumeGiBMonth');
    if (month === null) return missing('disk', 'volumeGiBMonth', prices);
    const usd = (billedHours(seconds) * machine.volumeGiB * month) / MONTH_HOURS;
    return estimated('disk', usd, `${String(machine.volumeGiB)} GiB, ${seconds.toFixed(0)} s, ${sheetNote(prices)}`);
  });
}

function addressPart(facts: CostFacts, sheet: PriceSheet | null): CostEntry {
  return whileThere('address', facts, sheet, ({ machine, seconds, sheet: prices }) => {
    if (!machine.hasPublicAddress) return observed('address', 0, 'the machine had no public address');
    const hour = unitUsd(prices, 'publicAddressHour');
    if (hour === null) return missing('address', 'publicAddressHour', prices);
    const usd = billedHours(seconds) * hour;
    return estimated('address', usd, `1 public IPv4 address, ${seconds.toFixed(0)} s, ${sheetNote(prices)}`);
  });
}

function transferPart(facts: CostFacts, sheet: PriceSheet | null): CostEntry {
  const { transferOutBytes: bytes } = facts;
  if (isWithoutBill(facts.provider)) return observed('transfer', 0, NO_BILL);
  if (facts.machineSeconds === 0) return observed('transfer', 0, 'no machine was launched');
  if (bytes === null) return unknown('transfer', 'nothing measures what a machine sends');
  const usd = sheet === null ? null : unitUsd(sheet, 'transferOutGiB');
  if (sheet === null) return unknown('transfer', NO_SHEET);
  if (usd === null) return missing('transfer', 'transferOutGiB', sheet);
  return estimated('transfer', (bytes / GIB_BYTES) * usd, `${String(bytes)} bytes sent, ${sheetNote(sheet)}`);
}

function orchestrationPart({ controlPlane: counts, sealedRequests }: CostFacts, sheet: PriceSheet | null): CostEntry {
  if (counts === null) return observed('orchestration', 0, 'the pipeline ran on a computer of yours');
  if (sheet === null) return unknown('orchestration', NO_SHEET);
  const own = controlPlaneUsd(counts, sheet);
  const sealed = sealedRequestsUsd(sealedRequests, sheet);
  if (own === null || sealed === null)
    return unknown('orchestration', `the price sheet of ${sheet.date} has not all its prices`);
  const what = [
    `${String(counts.transitions)} transitions`,
    `${String(counts.invocations)} invocations`,
    ...(sealedRequests === 0 ? [] : [`${String(sealedRequests)} requests sealed for its guest`]),
  ].join(', ');
  return estimated(
    'orchestration',
    own + sealed,
    `${what}, by counting the stages it went through; ${sheetNote(sheet)}`,
  );
}

function tokensPart({ model, tokens }: CostFacts): CostEntry {
  if (tokens !== null && tokens.usd !== null) {
    return estimated(
      'tokens',
      tokens.usd,
      `as the agent reports it; ${tokenText(tokens.promptTokens, tokens.completionTokens)}`,
    );
  }
  if (model === null) return observed('tokens', 0, 'the agent has no model');
  if (tokens === null) return unknown('tokens', 'the agent reports no usage');
  const counted = tokenText(tokens.promptTokens, tokens.completionTokens);
  return unknown('tokens', `the agent reports no price; ${counted}`);
}

function tokenText(prompt: number, completion: number): string {
  return `${String(prompt)} prompt and ${String(completion)} completion tokens`;
}

/** What the pipeline's own actions cost; null when the sheet lacks one of the prices. */
export function controlPlaneUsd(counts: ControlPlaneCounts, sheet: PriceSheet): number | null {
  let total = 0;
  for (const [count, name] of Object.entries(PRICE_OF_COUNT) as [keyof ControlPlaneCounts, UnitPrice][]) {
    if (counts[count] === 0) continue;
    const usd = unitUsd(sheet, name);
    if (usd === null) return null;
    total += counts[count] * usd;
  }
  return total;
}

/** What the objects of so many sealed requests cost; null when the sheet lacks one of the prices. */
export function sealedRequestsUsd(count: number, sheet: PriceSheet): number | null {
  if (count === 0) return 0;
  const put = unitUsd(sheet, 'objectPut');
  const get = unitUsd(sheet, 'objectGet');
  if (put === null || get === null) return null;
  return count * (OBJECTS_OF_SEALED_REQUEST.puts * put + OBJECTS_OF_SEALED_REQUEST.gets * get);
}

/** The price of one of each. */
export const PRICE_OF_COUNT: Readonly<Record<keyof ControlPlaneCounts, UnitPrice>> = {
  transitions: 'stateTransition',
  invocations: 'functionRequest',
  gibSeconds: 'functionGiBSecond',
  tableWriteUnits: 'tableWriteUnit',
  tableReadUnits: 'tableReadUnit',
  objectPuts: 'objectPut',
  objectGets: 'objectGet',
  events: 'event',
  scheduledInvocations: 'scheduledInvocation',
};

/** An hour of the machine with its licence; null when the sheet does not have all of it. */
function hourUsd(machine: BilledMachine, sheet: PriceSheet): number | null {
  const price = Object.hasOwn(sheet.machines, machine.machineType) ? sheet.machines[machine.machineType] : undefined;
  const hour = machine.isSpot ? price?.spotHour : price?.hour;
  if (price === undefined || hour === undefined) return null;
  if (machine.os === 'linux') return hour.usd;
  const licence = unitUsd(sheet, 'windowsVCpuHour');
  return licence === null ? null : hour.usd + price.vCpus * licence;
}

function billedHours(seconds: number): number {
  return Math.max(seconds, LEAST_BILLED_SECONDS) / HOUR_SECONDS;
}

function missing(part: CostPart, name: UnitPrice, sheet: PriceSheet): CostEntry {
  return unknown(part, `the price sheet of ${sheet.date} has no ${name}`);
}

function sheetNote(sheet: PriceSheet): string {
  return `price sheet ${sheet.region} ${sheet.date}`;
}
