import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { METADATA_ADDRESS, type HostileNetwork, type PlaceName } from './hostile-network.ts';
import type { ProviderSettings } from './hostile-provider.ts';

const REPOSITORY = path.resolve(import.meta.dirname, '../..');
const PORT = 8080;
/** Answers on the ports of a desktop whatever it is asked. Argument: the address it listens on; none for all. */
const DESKTOP = `const host = process.argv[1];
for (const port of [22, 5000]) require('node:http').createServer((_, answer) => answer.end('cua')).listen({ port, host });
setTimeout(() => console.log('up'), 100); process.stdin.resume().once('close', () => process.exit(0));`;

const DOOR = `const net = require('node:net'); const [port, path] = process.argv.slice(1);
net.createServer((socket) => { const other = net.connect(path); for (const side of [socket, other]) side.on('error', () => undefined);
  socket.pipe(other).pipe(socket); }).listen(Number(port), '127.0.0.1', () => console.log('up'));
process.stdin.resume().once('close', () => process.exit(0));`;

/** Programs of Node in places of a network; they end with their input. */
export class HostilePrograms {
  readonly #network: HostileNetwork;
  readonly #children: ChildProcess[] = [];

  constructor(network: HostileNetwork) {
    this.#network = network;
  }

  /** Where the provider's services answer, with `{service}` in it. */
  get endpoint(): string {
    return `http://${this.#network.place('provider').address}:${String(PORT)}/{service}`;
  }

  /** @returns what the provider's program prints. */
  async startProvider(
    settings: Pick<ProviderSettings, 'statements' | 'openTo' | 'objects' | 'hosts'>,
  ): Promise<string> {
    const { address } = this.#network.place('provider');
    const all: ProviderSettings = { ...settings, metadataAddress: METADATA_ADDRESS, address, port: PORT };
    const program = path.join(import.meta.dirname, 'hostile-provider.ts');
    return await this.#start('provider', ['--import', 'tsx', program, JSON.stringify(all)]);
  }

  /** What answers on a sandbox's ports; `address` leaves those of its loopback to what is there. */
  async startDesktop(place: PlaceName, address?: string): Promise<void> {
    await this.#start(place, ['-e', DESKTOP, ...(address === undefined ? [] : [address])]);
  }

  /** Leads a port of a place's loopback to a socket, which is a file. */
  async startDoor(place: PlaceName, port: number, socket: string): Promise<void> {
    await this.#start(place, ['-e', DOOR, String(port), socket]);
  }

  end(): void {
    for (const child of this.#children) child.stdin?.destroy();
  }

  async #start(place: PlaceName, args: readonly string[]): Promise<string> {
    const [program = '', ...rest] = this.#network.in(place, [process.execPath, ...args]);
    const child = spawn(program, rest, { cwd: REPOSITORY, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#children.push(child);
    const ended = once(child, 'exit').then(() => [Buffer.from('')]);
    const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
    if (line.length === 0) throw new Error(`a program in ${place} ended before it listened`);
    return line.toString().trim();
  }
}
