import http from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCuaClient, type CuaClient } from '#adapters/cua-client';
import { createCuaDesktop, type CuaDesktop } from '#adapters/cua-desktop';
import { desktopOf, DesktopKit } from '#test/unit/local/sandboxes/desktop-kit';
import { until } from '#test/unit/guest/guest-kit';

/** A real server on this computer's own network, so that its address is all one needs. */
export interface RealServer {
  readonly url: string;
  readonly client: CuaClient;
  readonly desktop: CuaDesktop;
  close(): Promise<void>;
}

export async function openRealServer(): Promise<RealServer> {
  const kit = await DesktopKit.open({ withoutWalls: 'asked for by the test' });
  const { url } = desktopOf(await kit.acquire()).endpoint;
  const client = createCuaClient({ url });
  const close = async (): Promise<void> => {
    client.close();
    await kit.remove();
  };
  return { url, client, desktop: createCuaDesktop(client), close };
}

/** What a page saw of the mouse and the keys. */
export interface PageEvent {
  readonly type: string;
  readonly x: number;
  readonly y: number;
  readonly button: number;
  readonly detail: number;
  readonly key: string;
  readonly isHeld: boolean;
  readonly deltaX: number;
  readonly deltaY: number;
  readonly text: string;
}

const PAGE = `<!doctype html><meta charset=utf-8><title>events</title>
<body style="margin:0;background:#cde;height:4000px;width:4000px"><textarea style="position:fixed;left:0;top:0;width:400px;height:300px" autofocus></textarea>
<script>
const area = document.querySelector('textarea');
let last = Promise.resolve();
const tell = (event) => {
  const { type, clientX: x = -1, clientY: y = -1, button = -1, detail = -1, key = '', buttons = 0, deltaX = 0, deltaY = 0 } = event;
  const body = JSON.stringify({ type, x, y, button, detail, key, isHeld: buttons > 0, deltaX, deltaY, text: area.value });
  last = last.then(() => fetch('/event', { method: 'POST', body }));
};
for (const type of ['mousedown', 'mouseup', 'mousemove', 'click', 'dblclick', 'auxclick', 'wheel', 'keydown', 'keyup', 'input'])
  addEventListener(type, tell, { capture: true, passive: true });
addEventListener('contextmenu', (event) => event.preventDefault());
addEventListener('load', tell);
</script>`;

export interface Page {
  readonly events: PageEvent[];
  /** The last text of the text area. */
  text(): string;
  close(): Promise<void>;
}

/** A page over the whole screen that tells what happens to it. */
export async function openPage(client: CuaClient): Promise<Page> {
  const events: PageEvent[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/event') events.push(JSON.parse(Buffer.concat(chunks).toString('utf8')) as PageEvent);
      response.writeHead(200, { 'content-type': 'text/html' }).end(request.url === '/' ? PAGE : '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const profile = mkdtempSync(path.join(os.tmpdir(), 'examhall-profile-'));
  const { port } = server.address() as AddressInfo;
  const switches = ['--no-sandbox', '--no-first-run', '--disable-gpu', '--kiosk', `--user-data-dir=${profile}`];
  const { pid } = await client.call('launch', { app: 'chromium', args: [...switches, `http://127.0.0.1:${port}/`] });
  await showsItself(client, events);
  return {
    events,
    text: () => events.findLast((event) => event.type === 'input')?.text ?? '',
    close: async () => {
      await client.exec(`kill ${String(pid)}; while kill -0 ${String(pid)} 2>/dev/null; do sleep 0.1; done`, {
        timeoutSeconds: 20,
      });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The page is loaded before its window lies under the mouse. */
async function showsItself(client: CuaClient, events: readonly PageEvent[]): Promise<void> {
  await until(() => events.some((event) => event.type === 'load'), 60);
  for (let x = 600; !events.some((event) => event.type === 'mousemove') && x < 1000; x += 2) {
    await client.call('move_cursor', { x, y: 600 });
    await sleep(50);
  }
}
