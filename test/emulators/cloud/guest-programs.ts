import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { startFakeCuaServer } from '#test/fakes/cua-server';
import { makePng } from '#test/fakes/cua-server-commands';

/**
 * What runs on a machine of the stand-in besides jobs, bundled into one file:
 * `relay <folder> <ports>` leads ports of its loopback to sockets of the folder, and a socket to the screen's port;
 * `screen <black|coloured>` is a cua-server without a screen.
 */
async function main([program, first = '', second = '']: readonly string[]): Promise<void> {
  if (program === 'relay') {
    for (const port of second.split(',').filter((text) => text !== ''))
      relay({ port: Number(port), host: '127.0.0.1' }, { path: `${first}/port-${port}.sock` });
    rmSync(`${first}/cua.sock`, { force: true });
    relay({ path: `${first}/cua.sock` }, { port: 5000, host: '127.0.0.1' });
    return;
  }
  const image = makePng(1920, 1080, first === 'black' ? [0, 0, 0] : [30, 80, 120]).toString('base64');
  await startFakeCuaServer({ port: 5000, handlers: { screenshot: () => ({ image_data: image, format: 'png' }) } });
}

type Place = { readonly port: number; readonly host: string } | { readonly path: string };

function relay(from: Place, to: Place): void {
  const server = createServer((socket) => {
    const other = connect(to);
    tie(socket, other);
    tie(other, socket);
  });
  server.listen(from);
}

function tie(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}

await main(process.argv.slice(2));
