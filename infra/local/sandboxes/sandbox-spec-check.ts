import { ExamHallError } from '#core/errors';
import type { SandboxSpec } from '#ports/sandbox-provider';

/** More pixels than this would only cost memory. */
const MOST_PIXELS = 7680 * 4320;
const DEFAULT_RESOLUTION = '1280x800';

/** Refuses what a `process` sandbox cannot give. @throws SandboxRefusedError naming every such wish. */
export function checkProcessSpec(spec: SandboxSpec): void {
  refuseAny(spec, wishesFor(spec, 'it shares the network of this computer'));
}

/** Refuses what a `desktop` sandbox cannot give. @throws SandboxRefusedError naming every such wish. */
export function checkDesktopSpec(spec: SandboxSpec): void {
  const { width, height } = resolutionOf(spec);
  const isTooLarge = width < 320 || height < 240 || width * height > MOST_PIXELS;
  const size = isTooLarge ? [`resolution ${width}x${height} (allowed: from 320x240 to 7680x4320)`] : [];
  refuseAny(spec, [...wishesFor(spec, 'no network is filtered here'), ...size]);
}

/** Size of the screen. @throws SandboxRefusedError for what is no size. */
export function resolutionOf(spec: SandboxSpec): { readonly width: number; readonly height: number } {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(spec.resolution ?? DEFAULT_RESOLUTION) ?? [];
  if (width === undefined || height === undefined)
    throw refusal(spec, [`resolution ${JSON.stringify(spec.resolution)} (allowed: WIDTHxHEIGHT in pixels)`]);
  return { width: Number(width), height: Number(height) };
}

function wishesFor(spec: SandboxSpec, whyOpen: string): string[] {
  const knobs = Object.keys(spec.knobs);
  return [
    spec.os === 'linux' ? [] : [`os ${spec.os} (allowed: linux)`],
    spec.gpu ? ['a GPU'] : [],
    spec.network === 'open' ? [] : [`network ${spec.network} (allowed: open; ${whyOpen})`],
    spec.privilege === 'restricted'
      ? []
      : [`privilege ${spec.privilege} (allowed: restricted; sudo here would be sudo on this computer)`],
    knobs.length === 0 ? [] : [`the settings ${knobs.sort().join(', ')} (allowed: none)`],
  ].flat();
}

function refuseAny(spec: SandboxSpec, wishes: readonly string[]): void {
  if (wishes.length > 0) throw refusal(spec, wishes);
}

function refusal(spec: SandboxSpec, wishes: readonly string[]): ExamHallError {
  return new ExamHallError(
    'SandboxRefusedError',
    `snapshot ${JSON.stringify(spec.snapshot)}: provider ${spec.provider} cannot give ${wishes.join('; ')}. Use a provider with machines of its own, or change the request`,
    { provider: spec.provider, snapshot: spec.snapshot, wishes },
  );
}
