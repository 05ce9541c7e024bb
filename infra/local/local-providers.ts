import { ExamHallError } from '#core/errors';
import type { Channel } from '#ports/channel';
import type { Channels, Providers } from '#ports/ports';
import { findDesktop, SETUP_COMMAND } from '#local/desktop/installation';
import type { SandboxProvider, SandboxWish } from '#ports/sandbox-provider';
import { desktopWishes, processWishes, refusalText } from './sandboxes/sandbox-spec-check.ts';

/** Providers this host knows, as environment files name them. */
const LOCAL_PROVIDERS: readonly string[] = ['process', 'desktop', 'static'];

/** Which of them are ready on this computer, and for those that are not what makes them so. */
export function localProviders(): {
  readonly availableProviders: readonly string[];
  readonly remedies: ReadonlyMap<string, string>;
} {
  const found = findDesktop();
  const remedies = new Map(found.isThere ? [] : [['desktop', `${found.reason}; run: ${SETUP_COMMAND}`]]);
  return { availableProviders: LOCAL_PROVIDERS.filter((name) => !remedies.has(name)), remedies };
}

/** Why a provider of this host cannot give a sandbox, set up or not; null for one that it can, and where only a machine tells. */
export function localRefusal(provider: string, wish: SandboxWish): string | null {
  if (provider === 'process') return refusalText(provider, wish, processWishes(wish));
  return provider === 'desktop' ? refusalText(provider, wish, desktopWishes(wish)) : null;
}

export function providersOf(list: readonly SandboxProvider[]): Providers {
  return {
    get: (name) => {
      const found = list.find((provider) => provider.name === name);
      if (found !== undefined) return found;
      const names = list.map((provider) => provider.name).join(', ');
      throw new ExamHallError(
        'SandboxRefusedError',
        `there is no sandbox provider ${JSON.stringify(name)} here; available: ${names}`,
      );
    },
    all: () => list,
  };
}

/** Sandboxes without a machine behind them go by the no-op channel; the others each by the one they name. */
export function channelsOf({ local, noop, cua }: Readonly<Record<'local' | 'noop' | 'cua', Channel>>): Channels {
  return {
    for: (sandbox) => {
      if (sandbox.provider === 'noop') return noop;
      return sandbox.channel === 'cua' ? cua : local;
    },
  };
}
