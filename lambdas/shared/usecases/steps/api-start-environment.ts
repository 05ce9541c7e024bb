import type { RequestProblem } from '#core/api-refusal';
import { cleanupRefusal } from '#core/cleanup-mode';
import { ConfigReader } from '#core/config-reader';
import { isErrorNamed } from '#core/errors';
import { imageFamily, IMAGE_FAMILY_NAMES } from '#core/image-family';
import { plainSource, type LocatedProblem, type ValuePath } from '#core/located';
import { networkRefusal } from '#core/network-profile';
import { checkSettings, requiredSettings } from '#core/provider-settings';
import type { StartSweepBody } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';

type Providers = Pick<Ports['providers'], 'get'>;
type Snapshot = StartSweepBody['snapshots'][string];

/** What cannot be had of the environment a request describes: network, provider, image, screen, settings. */
export function environmentProblems(body: StartSweepBody, providers: Providers): readonly RequestProblem[] {
  const network = networkRefusal(body.network);
  return [
    ...(network === null ? [] : [{ path: 'body.network', message: network }]),
    ...Object.entries(body.snapshots).flatMap(([tag, snapshot]) => [
      ...snapshotProblems(tag, snapshot, providers),
      ...settingProblems(tag, snapshot),
    ]),
    ...cleanupProblems(body),
  ];
}

/** One for each provider that cannot leave its sandboxes in the way that is asked for. */
function cleanupProblems({ cleanupMode, snapshots }: StartSweepBody): RequestProblem[] {
  const providers = new Set(Object.values(snapshots).map(({ provider }) => provider));
  return [...providers].flatMap((provider) => {
    const message = cleanupRefusal(provider, cleanupMode);
    return message === null ? [] : [{ path: 'body.cleanupMode', message }];
  });
}

function snapshotProblems(tag: string, snapshot: Snapshot, providers: Providers): RequestProblem[] {
  const problems: RequestProblem[] = [];
  const refuse = (what: string, message: string): void => {
    problems.push({ path: `body.snapshots.${tag}.${what}`, message });
  };
  const missing = providerProblem(snapshot.provider, providers);
  if (missing !== null) refuse('provider', missing);
  const family = imageFamily(snapshot.image);
  if (family === null) {
    refuse('image', `there is no image family ${snapshot.image}; allowed: ${IMAGE_FAMILY_NAMES.join(', ')}`);
  } else if (family.os !== snapshot.os) refuse('os', `image family ${family.name} is ${family.os}, not ${snapshot.os}`);
  if (snapshot.resolution !== null && !/^[1-9]\d{1,4}x[1-9]\d{1,4}$/u.test(snapshot.resolution)) {
    refuse('resolution', 'must be <width>x<height> in pixels, such as 1280x800');
  }
  return problems;
}

function providerProblem(name: string, providers: Providers): string | null {
  try {
    providers.get(name);
    return null;
  } catch (error) {
    if (error instanceof Error && isErrorNamed(error, 'SandboxRefusedError')) return error.message;
    throw error;
  }
}

/** Settings by the rules that environment files go by; one that nobody reads is refused here, not dropped. */
function settingProblems(tag: string, { provider, knobs }: Snapshot): readonly RequestProblem[] {
  const at: ValuePath = ['snapshots', tag, 'knobs'];
  const reader = new ConfigReader(plainSource('body', { snapshots: { [tag]: { knobs } } }));
  checkSettings(reader, provider, at, Object.keys(knobs));
  for (const name of requiredSettings(provider).filter((each) => !Object.hasOwn(knobs, each))) {
    reader.missing([...at, name], 'a value', `add it: ${provider} cannot start a sandbox without it`);
  }
  return [...reader.problems, ...reader.warnings].map(problemOf);
}

function problemOf({ path, what, allowed, action }: LocatedProblem): RequestProblem {
  return { path: ['body', ...path].join('.'), message: `${what}; allowed: ${allowed}; ${action}` };
}
