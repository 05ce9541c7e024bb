import type { Filter, Tag, TagSpecification } from '@aws-sdk/client-ec2';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { SandboxSpec } from '#ports/sandbox-provider';

export const STAGE_TAG = 'examhall:stage';
const ATTEMPT_TAG = 'examhall:attempt';
const EXPIRES_TAG = 'examhall:expires-at';
const MOST_VALUE_LENGTH = 256;
/** Later than anything: a machine that does not say when it ends has no end of its own. */
const NEVER = '9999-12-31T23:59:59.999Z';

/** Tags of everything that one launch makes, given with the launch itself; by three of them it is found again. */
export function launchTags(spec: SandboxSpec, { stage, tags }: SandboxSettings): TagSpecification[] {
  const own = { [ATTEMPT_TAG]: spec.attemptId, [EXPIRES_TAG]: spec.expiresAt, [STAGE_TAG]: stage };
  const all: Record<string, string> = { ...tags, ...spec.tags, ...own };
  const Tags = Object.entries(all).map(([Key, Value]): Tag => ({ Key, Value: tagValue(Value) }));
  return (['instance', 'volume', 'network-interface'] as const).map((ResourceType) => ({ ResourceType, Tags }));
}

/** EC2 takes 256 characters: what is longer is cut, always in the same way. */
function tagValue(text: string): string {
  return Array.from(text).slice(0, MOST_VALUE_LENGTH).join('');
}

export function stageFilter({ stage }: SandboxSettings): Filter {
  return { Name: `tag:${STAGE_TAG}`, Values: [filterText(stage)] };
}

/** Whether a resource has the tag without which we have no right over it. */
export function isOurs(tags: readonly Tag[] | undefined, { stage }: SandboxSettings): boolean {
  return tags?.some(({ Key, Value }) => Key === STAGE_TAG && Value === stage) === true;
}

/** Everything that one attempt of this stage made. */
export function attemptFilters(settings: SandboxSettings, attemptId: string): Filter[] {
  return [{ Name: `tag:${ATTEMPT_TAG}`, Values: [filterText(tagValue(attemptId))] }, stageFilter(settings)];
}

/** In a filter `*` and `?` stand for any text. */
function filterText(text: string): string {
  return text.replace(/[*?\\]/gu, (sign) => `\\${sign}`);
}

/** What tags say of a resource; the attempt is '' and the end far away where they say nothing that can be used. */
export function tagged(tags: readonly Tag[] | undefined): { readonly attemptId: string; readonly expiresAt: string } {
  const valueOf = (key: string): string => tags?.find(({ Key }) => Key === key)?.Value ?? '';
  const expiresAt = valueOf(EXPIRES_TAG);
  return { attemptId: valueOf(ATTEMPT_TAG), expiresAt: isTime(expiresAt) ? expiresAt : NEVER };
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/u.test(text) && !Number.isNaN(Date.parse(text));
}
