import { ExamHallError } from '#core/errors';
import type { SandboxSpec, SandboxWish } from '#ports/sandbox-provider';

/** More pixels than this would only cost memory. */
const MOST_PIXELS = 7680 * 4320;
const DEFAULT_RESOLUTION = '1280x800';

/** Every wish that a `process` sandbox cannot meet; none for one that can be had. */
export function processWishes(wish: SandboxWish): readonly string[] {
  return wishesFor(wish, 'it shares the network of this computer');
}

/** Every wish that a `desktop` sandbox cannot meet; none for one that can be had. */
export function desktopWishes(wish: SandboxWish): readonly string[] {
  return [...wishesFor(wish, 'no network is filtered here'), ...sizeWishes(wish)];
}

/** Why a provider of this computer cannot give a sandbox; null when all wishes can be met. */
export function refusalText(provider: string, { snapshot }: SandboxWish, wishes: readonly string[]): string | null {
  if (wishes.length === 0) return null;
  return `snapshot ${JSON.stringify(snapshot)}: provider ${provider} cannot give ${wishes.join('; ')}. Use a provider with machines of its own, or change the request`;
}

/** @throws SandboxRefusedError naming every wish that cannot be met. */
export function refuseAny(spec: SandboxSpec, wishes: readonly string[]): void {
  const message = refusalText(spec.provider, spec, wishes);
  if (message === null) return;
  const { provider, snapshot } = spec;
  throw new ExamHallError('SandboxRefusedError', message, { provider, snapshot, wishes });
}

/** Size of the screen. @throws TypeError for what is no size, which is refused before. */
export function resolutionOf(wish: Pick<SandboxWish, 'resolution'>): {
  readonly width: number;
  readonly height: number;
} {
  const size = sizeOf(wish);
  if (size === null) throw new TypeError(`a screen of ${JSON.stringify(wish.resolution)} was not refused`);
  return size;
}

function sizeOf({ resolution }: Pick<SandboxWish, 'resolution'>): ReturnType<typeof resolutionOf> | null {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(resolution ?? DEFAULT_RESOLUTION) ?? [];
  return width === undefined || height === undefined ? null : { width: Number(width), height: Number(height) };
}

function sizeWishes(wish: SandboxWish): readonly string[] {
  const size = sizeOf(wish);
  if (size === null) return [`resolution ${JSON.stringify(wish.resolution)} (allowed: WIDTHxHEIGHT in pixels)`];
  const { width, height } = size;
  const isGiven = width >= 320 && height >= 240 && width * height <= MOST_PIXELS;
  return isGiven ? [] : [`resolution ${width}x${height} (allowed: from 320x240 to 7680x4320)`];
}

function wishesFor({ os, gpu, network, privilege, knobs }: SandboxWish, whyOpen: string): readonly string[] {
  const names = Object.keys(knobs).sort();
  return [
    os === 'linux' ? [] : [`os ${os} (allowed: linux)`],
    gpu ? ['a GPU'] : [],
    network === 'open' ? [] : [`network ${network} (allowed: open; ${whyOpen})`],
    privilege === 'restricted'
      ? []
      : [`privilege ${privilege} (allowed: restricted; sudo here would be sudo on this computer)`],
    names.length === 0 ? [] : [`the settings ${names.join(', ')} (allowed: none)`],
  ].flat();
}
