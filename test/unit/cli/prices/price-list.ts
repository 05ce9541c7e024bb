import { PRICE_QUESTIONS } from '#cli/prices/price-questions';
import type { UnitPrice } from '#core/price-sheet';

/** What a made-up product needs; the rest is made as the price list makes it. */
export interface Listed {
  readonly serviceCode: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly unit: string;
  /** From tier to tier, the first from zero. */
  readonly tiers: readonly (readonly [from: string, usd: string])[];
}

/** One entry of a `PriceList`, in the shape that GetProducts answers with. */
export function entryOf({ serviceCode, attributes, unit, tiers }: Listed, sku = 'SKU1'): string {
  const dimension = ([from, usd]: readonly [string, string], index: number): [string, unknown] => [
    `${sku}.JRTCKXETXF.${String(index)}`,
    {
      unit,
      beginRange: from,
      endRange: tiers[index + 1]?.[0] ?? 'Inf',
      description: `$${usd} per ${unit}`,
      appliesTo: [],
      rateCode: `${sku}.JRTCKXETXF.${String(index)}`,
      pricePerUnit: { USD: usd },
    },
  ];
  return JSON.stringify({
    product: { productFamily: 'made for tests', attributes: { servicecode: serviceCode, ...attributes }, sku },
    serviceCode,
    terms: {
      OnDemand: {
        [`${sku}.JRTCKXETXF`]: {
          priceDimensions: Object.fromEntries(tiers.map(dimension)),
          sku,
          effectiveDate: '2026-11-01T00:00:00Z',
          offerTermCode: 'JRTCKXETXF',
          termAttributes: {},
        },
      },
    },
    version: '20261101000000',
    publicationDate: '2026-11-01T00:00:00Z',
  });
}

/** Usage types of us-east-1, which has no prefix for most services. */
const USAGE_TYPES: Readonly<Record<keyof typeof PRICE_QUESTIONS, string>> = {
  volumeGiBMonth: 'EBS:VolumeUsage.gp3',
  publicAddressHour: 'PublicIPv4:InUseAddress',
  transferOutGiB: 'DataTransfer-Out-Bytes',
  stateTransition: 'USE1-StateTransition',
  functionGiBSecond: 'Lambda-GB-Second',
  functionRequest: 'Request',
  tableWriteUnit: 'WriteRequestUnits',
  tableReadUnit: 'ReadRequestUnits',
  objectPut: 'Requests-Tier1',
  objectGet: 'Requests-Tier2',
  objectGiBMonth: 'TimedStorage-ByteHrs',
  event: 'USE1-Event-64K-Chunks',
  scheduledInvocation: 'USE1-ScheduledInvocation',
};
const UNITS: Readonly<Partial<Record<keyof typeof PRICE_QUESTIONS, string>>> = {
  publicAddressHour: 'Hrs',
  stateTransition: 'StateTransitions',
  volumeGiBMonth: 'GB-Mo',
  functionGiBSecond: 'Lambda-GB-Second',
};

/** Products of one region for every question there is, at these prices. */
export function listOf(region: string, prices: Readonly<Partial<Record<UnitPrice, string>>>): readonly Listed[] {
  return (Object.keys(PRICE_QUESTIONS) as (keyof typeof PRICE_QUESTIONS)[]).flatMap((name) => {
    const { serviceCode, filters, regionField, unit } = PRICE_QUESTIONS[name];
    const usd = prices[name];
    if (usd === undefined) return [];
    const attributes = { ...filters, [regionField]: region, usagetype: USAGE_TYPES[name] };
    return [
      {
        serviceCode,
        attributes,
        unit: UNITS[name] ?? unit,
        tiers: [
          ['0', '0.0000000000'],
          ['100', usd],
        ] as const,
      },
    ];
  });
}

export function machineOf(
  region: string,
  type: string,
  { linux, windows }: { readonly linux: string; readonly windows?: string },
): readonly Listed[] {
  const machine = (operatingSystem: string, usd: string, suffix: string): Listed => ({
    serviceCode: 'AmazonEC2',
    attributes: {
      instanceType: type,
      vcpu: '2',
      operatingSystem,
      tenancy: 'Shared',
      preInstalledSw: 'NA',
      capacitystatus: 'Used',
      licenseModel: 'No License required',
      regionCode: region,
      usagetype: `BoxUsage:${type}${suffix}`,
    },
    unit: 'Hrs',
    tiers: [['0', usd]],
  });
  return [machine('Linux', linux, ''), ...(windows === undefined ? [] : [machine('Windows', windows, '')])];
}
