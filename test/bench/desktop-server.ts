import { createCuaClient } from '#adapters/cua-client';
import { findDesktop } from '#local/desktop/installation';
import { startFakeCuaServer } from '#test/fakes/cua-server';
import { makePng } from '#test/fakes/cua-server-commands';
import { desktopOf, DesktopKit } from '#test/unit/local/sandboxes/desktop-kit';

export interface BenchServer {
  readonly url: string;
  readonly description: string;
  /** The Python of the installation; null where there is none. */
  readonly python: string | null;
  close(): Promise<void>;
}

/** A real desktop on this computer's own network where one is set up, else the double. */
export async function openBenchServer(): Promise<BenchServer> {
  const found = findDesktop();
  if (!found.isThere) return openDouble(found.reason);
  const kit = await DesktopKit.open({ withoutWalls: 'a bench of one server' });
  const { url } = desktopOf(await kit.acquire()).endpoint;
  const client = createCuaClient({ url });
  const { width, height } = await client.screenshot();
  client.close();
  return {
    url,
    description: `cua-computer-server ${found.installation.server}, screen ${String(width)}x${String(height)}`,
    python: found.installation.python,
    close: () => kit.remove(),
  };
}

async function openDouble(reason: string): Promise<BenchServer> {
  const picture = makePng(1280, 800, [40, 90, 140]).toString('base64');
  const server = await startFakeCuaServer({
    handlers: {
      get_screen_size: () => ({ size: { width: 1280, height: 800 } }),
      screenshot: () => ({ image_data: picture, format: 'png' }),
    },
  });
  return {
    url: server.url,
    description: `the double, since ${reason}; its screenshots cost it nothing`,
    python: null,
    close: () => server.close(),
  };
}
