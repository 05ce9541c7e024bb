import type { UnitPrice } from '#core/price-sheet';

/** One question to the Price List API, and which of the products that come back is meant. */
export interface PriceQuestion {
  readonly serviceCode: string;
  /** Besides the region. */
  readonly filters: Readonly<Record<string, string>>;
  /** The attribute that has the region's code. */
  readonly regionField: string;
  /** Of `usagetype` without its region; null when the filters say it all. */
  readonly usageType: RegExp | null;
  /** As the price list writes it, in lower case. */
  readonly unit: string;
}

const inRegion = (
  serviceCode: string,
  filters: Readonly<Record<string, string>>,
  usageType: RegExp | null,
  unit: string,
): PriceQuestion => ({ serviceCode, filters, regionField: 'regionCode', usageType, unit });

/** An hour of a machine on demand, shared tenancy, nothing installed. */
export function machineQuestion(instanceType: string, operatingSystem: 'Linux' | 'Windows'): PriceQuestion {
  const filters = {
    instanceType,
    operatingSystem,
    tenancy: 'Shared',
    preInstalledSw: 'NA',
    capacitystatus: 'Used',
    licenseModel: 'No License required',
  };
  return inRegion('AmazonEC2', filters, /^BoxUsage/u, 'hrs');
}

/** The licence of Windows has no price of its own: it is what a machine costs more with it, for each vCPU. */
type AskedPrice = Exclude<UnitPrice, 'windowsVCpuHour'>;

export const PRICE_QUESTIONS: Readonly<Record<AskedPrice, PriceQuestion>> = {
  volumeGiBMonth: inRegion(
    'AmazonEC2',
    { volumeApiName: 'gp3', productFamily: 'Storage' },
    /^EBS:VolumeUsage\.gp3$/u,
    'gb-mo',
  ),
  publicAddressHour: inRegion('AmazonVPC', { group: 'VPCPublicIPv4Address' }, /^PublicIPv4:InUseAddress$/u, 'hrs'),
  transferOutGiB: {
    serviceCode: 'AWSDataTransfer',
    filters: { transferType: 'AWS Outbound', toLocation: 'External' },
    regionField: 'fromRegionCode',
    usageType: /^DataTransfer-Out-Bytes$/u,
    unit: 'gb',
  },
  stateTransition: inRegion('AmazonStates', {}, /^StateTransition$/u, 'statetransitions'),
  functionGiBSecond: inRegion('AWSLambda', { group: 'AWS-Lambda-Duration' }, /^Lambda-GB-Second$/u, 'lambda-gb-second'),
  functionRequest: inRegion('AWSLambda', { group: 'AWS-Lambda-Requests' }, /^Request$/u, 'requests'),
  tableWriteUnit: inRegion('AmazonDynamoDB', { group: 'DDB-WriteUnits' }, /^WriteRequestUnits$/u, 'writerequestunits'),
  tableReadUnit: inRegion('AmazonDynamoDB', { group: 'DDB-ReadUnits' }, /^ReadRequestUnits$/u, 'readrequestunits'),
  objectPut: inRegion('AmazonS3', { group: 'S3-API-Tier1' }, /^Requests-Tier1$/u, 'requests'),
  objectGet: inRegion('AmazonS3', { group: 'S3-API-Tier2' }, /^Requests-Tier2$/u, 'requests'),
  objectGiBMonth: inRegion(
    'AmazonS3',
    { productFamily: 'Storage', volumeType: 'Standard' },
    /^TimedStorage-ByteHrs$/u,
    'gb-mo',
  ),
  event: inRegion('AWSEvents', { eventType: 'Custom Event' }, /^Event-64K-Chunks$/u, '64k chunks'),
  scheduledInvocation: inRegion('AWSEvents', {}, /^ScheduledInvocation$/u, 'invocations'),
};
