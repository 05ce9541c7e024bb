import type * as iam from 'aws-cdk-lib/aws-iam';

/** What every machine, volume and interface of a sandbox is tagged with when it is launched. */
export const SANDBOX_TAGS = [
  'examhall:sweep',
  'examhall:unit',
  'examhall:attempt',
  'examhall:agent',
  'examhall:task',
  'examhall:cost-center',
  'examhall:owner',
  'examhall:expires-at',
] as const;

/** Keeps two deployments in one account from each other's sandboxes. */
export const STAGE_TAG = 'examhall:stage';

/** The keys that finance activates. The others have a value for each attempt, and the resource id finds those. */
export const FINANCE_TAGS = [
  'examhall:cost-center',
  'examhall:owner',
  'examhall:sweep',
  'examhall:agent',
  'examhall:task',
  STAGE_TAG,
] as const;

/** At least one character: an empty value tells nobody anything. */
const SOME_TEXT = '?*';

/** Conditions on the stage that a resource was launched with: only a sandbox of ours carries these. */
export function ownedBy(stage: string, key: 'aws:ResourceTag' | 'ssm:resourceTag'): iam.Conditions {
  return {
    StringEquals: { [`${key}/${STAGE_TAG}`]: stage },
    StringLike: { [`${key}/examhall:attempt`]: SOME_TEXT },
  };
}

export interface LaunchTags {
  readonly stage: string;
  readonly costCenters: readonly string[];
  /** Tags of the deployment's settings, which a sandbox carries too. */
  readonly tags: Readonly<Record<string, string>>;
}

/** Conditions that a request for something new gives every tag, each with a value, and no other tag. */
export function taggedAtLaunch({ stage, costCenters, tags }: LaunchTags): iam.Conditions {
  const free = SANDBOX_TAGS.filter((tag) => tag !== 'examhall:cost-center');
  const fixed = Object.entries({ ...tags, [STAGE_TAG]: stage, 'examhall:cost-center': [...costCenters] });
  return {
    StringLike: Object.fromEntries(free.map((tag) => [`aws:RequestTag/${tag}`, SOME_TEXT])),
    StringEquals: Object.fromEntries(fixed.map(([tag, value]) => [`aws:RequestTag/${tag}`, value])),
    ...onlyTagKeys([...SANDBOX_TAGS, STAGE_TAG, ...Object.keys(tags)]),
  };
}

/** Conditions on the tags that a request names: these alone. One that names none asks for all of them, or for nothing. */
export function onlyTagKeys(keys: readonly string[]): iam.Conditions {
  return { 'ForAllValues:StringEquals': { 'aws:TagKeys': [...keys] }, Null: { 'aws:TagKeys': 'false' } };
}
