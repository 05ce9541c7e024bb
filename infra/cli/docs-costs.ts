import { FUNCTIONS } from '#contracts/functions';
import { priceSheetOf } from '#contracts/price-sheets';
import { controlPlaneUsd, PRICE_OF_COUNT } from '#core/attempt-cost';
import {
  assumedSeconds,
  countsOfStages,
  FUNCTION_ACTIONS,
  WHOLE_ATTEMPT,
  WRITE_UNITS_PER_ROW,
} from '#core/control-plane-cost';
import { cloudCallsOfUnit, OBJECTS_OF_SEALED_REQUEST } from '#core/cloud-calls';
import type { ControlPlaneCounts } from '#core/cost-facts';
import { unitUsd, type PriceSheet } from '#core/price-sheet';

/** Region whose prices the documents show. */
const REGION = 'us-east-1';
const MONTH_SECONDS = 730 * 3600;
/** EventBridge has no rate below a minute. */
const LEAST_RATE_SECONDS = 60;
const MIB_PER_GIB = 1024;

const WORDS: Readonly<Record<keyof ControlPlaneCounts, string>> = {
  transitions: 'Step Functions transitions',
  invocations: 'Lambda requests',
  gibSeconds: 'Lambda GB-seconds (assumed)',
  tableWriteUnits: 'DynamoDB write units',
  tableReadUnits: 'DynamoDB read units',
  objectPuts: 'S3 PUT and LIST requests',
  objectGets: 'S3 GET and HEAD requests',
  events: 'EventBridge events',
  scheduledInvocations: 'Scheduler invocations',
};

/** What the pipeline itself costs for one unit, by what is billed. */
export function unitCostTable(): string {
  const sheet = sheetOfDocuments();
  const counts = countsOfStages(WHOLE_ATTEMPT, FUNCTIONS);
  const total = controlPlaneUsd(counts, sheet);
  const rows = (Object.keys(WORDS) as (keyof ControlPlaneCounts)[])
    .filter((count) => counts[count] > 0)
    .map((count) => {
      const usd = counts[count] * (unitUsd(sheet, PRICE_OF_COUNT[count]) ?? NaN);
      return line([WORDS[count], numberText(counts[count]), usdText(usd), shareText(usd, total ?? NaN)]);
    });
  return [
    line([`for one unit in ${REGION}, sheet of ${sheet.date}`, 'count', 'USD', 'share']),
    '| --- | --: | --: | --: |',
    ...rows,
    line(['**one unit**', '', `**${usdText(total ?? NaN)}**`, '']),
    line(['**1,000 units**', '', `**${((total ?? NaN) * 1000).toFixed(2)}**`, '']),
    '',
  ].join('\n');
}

/** What a unit on EC2 asks of the cloud besides, and what of that is billed. */
export function cloudCallTable(): string {
  const sheet = sheetOfDocuments();
  const all = cloudCallsOfUnit();
  const puts = OBJECTS_OF_SEALED_REQUEST.puts * all.sealedRequests;
  const gets = OBJECTS_OF_SEALED_REQUEST.gets * all.sealedRequests;
  const price = (count: keyof ControlPlaneCounts): number => unitUsd(sheet, PRICE_OF_COUNT[count]) ?? NaN;
  const rows: readonly (readonly [string, number, number])[] = [
    ['EC2: launches and ends', all.ec2Changes, 0],
    ['EC2: looks', all.ec2Looks, 0],
    ['Systems Manager: commands sent', all.commands, 0],
    ['Systems Manager: looks', all.commandLooks, 0],
    ['Lambda: calls of `call-guest`', all.guestCalls, all.guestCalls * price('invocations')],
    ['S3 PUT: requests to guests and their answers', puts, puts * price('objectPuts')],
    ['S3 GET: the same', gets, gets * price('objectGets')],
  ];
  return [
    line([`for one unit on EC2 in ${REGION}`, 'calls', 'USD']),
    '| --- | --: | --: |',
    ...rows.map(([what, count, usd]) => line([what, numberText(count), usdText(usd)])),
    '',
  ].join('\n');
}

/** What each function does for one unit. */
export function functionCostTable(): string {
  const memory = new Map(FUNCTIONS.map(({ name, memoryMiB }) => [name, memoryMiB]));
  const rows = Object.entries(FUNCTION_ACTIONS).map(([name, each]) =>
    line([
      `\`${name}\``,
      ...[each.calls, each.writes, each.transactWrites, each.reads, each.objectPuts, each.objectGets, each.events].map(
        String,
      ),
      String(memory.get(name) ?? 0),
      String(assumedSeconds(name)),
    ]),
  );
  return [
    line([
      'function',
      'calls',
      'rows alone',
      'rows in transactions',
      'reads',
      'PUT',
      'GET',
      'events',
      'MiB',
      's a call (assumed)',
    ]),
    '| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |',
    ...rows,
    '',
    `Each row is taken to cost ${String(WRITE_UNITS_PER_ROW)} write units, and twice that in a transaction.`,
    '',
  ].join('\n');
}

/** What a deployment costs in a month in which nothing runs, as far as it is functions on a rate. */
export function idleCostTable(): string {
  const sheet = sheetOfDocuments();
  const rows = FUNCTIONS.flatMap(({ name, trigger, memoryMiB }) => {
    const every = trigger.kind === 'schedule' || trigger.kind === 'event' ? trigger.everySeconds : undefined;
    if (every === undefined) return [];
    const calls = MONTH_SECONDS / Math.max(every, LEAST_RATE_SECONDS);
    const request = unitUsd(sheet, 'functionRequest') ?? NaN;
    const second = unitUsd(sheet, 'functionGiBSecond') ?? NaN;
    const usd = calls * (request + (memoryMiB / MIB_PER_GIB) * assumedSeconds(name) * second);
    return [line([`\`${name}\``, numberText(Math.round(calls)), usdText(usd)])];
  });
  return [line(['function', 'calls a month', 'USD a month']), '| --- | --: | --: |', ...rows, ''].join('\n');
}

function sheetOfDocuments(): PriceSheet {
  const sheet = priceSheetOf(REGION);
  if (sheet === null) throw new TypeError(`the documents show prices of ${REGION}, and there is no sheet of it`);
  return sheet;
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const numberText = (value: number): string => String(Math.round(value * 100) / 100);
const usdText = (value: number): string => value.toFixed(6);
const shareText = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(0)} %`;
