import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import path from 'node:path';
import { rootScript } from './guest-root.ts';

export interface GuestOptions {
  /** Host folder for the disk and for the sockets that lead out. */
  readonly folder: string;
  readonly runner: string;
  readonly programs: string;
  /** Ports of the host's loopback that the machine reaches as its own. */
  readonly ports: readonly number[];
  readonly isScreenBlack: boolean;
}

/** A script that runs on a machine. */
export interface GuestScript {
  readonly ended: Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;
  kill(): void;
}

type Place = { readonly port: number; readonly host: string } | { readonly path: string };

const BASE_ENV = ['PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'HOME=/root', 'LANG=C.UTF-8'];

/** What runs on one machine: a root, a process table and a network of its own. It ends with this process. */
export class Guest {
  readonly #options: GuestOptions;
  readonly #servers: Server[] = [];
  #machine: ChildProcess | undefined;
  #init = 0;
  #door = 0;

  constructor(options: GuestOptions) {
    this.#options = options;
  }

  /** A port of the host's loopback behind which the machine's cua-server is. */
  get door(): number {
    return this.#door;
  }

  /** Its first process, as this host numbers it: what its namespaces are named by. */
  get pid(): number {
    return this.#init;
  }

  get #meeting(): string {
    return path.join(this.#options.folder, 'meeting');
  }

  async start(): Promise<void> {
    const { folder, runner, programs, ports, isScreenBlack } = this.#options;
    const disk = path.join(folder, 'disk');
    await Promise.all([disk, this.#meeting].map(async (each) => await mkdir(each, { recursive: true })));
    for (const port of ports) {
      await this.#lead({ path: path.join(this.#meeting, `port-${String(port)}.sock`) }, { port, host: '127.0.0.1' });
    }
    const door = await this.#lead({ port: 0, host: '127.0.0.1' }, { path: path.join(this.#meeting, 'cua.sock') });
    const address = door.address();
    this.#door = typeof address === 'object' && address !== null ? address.port : 0;
    const script = rootScript({ disk, meeting: this.#meeting, runner, programs, ports, isScreenBlack });
    const init = path.join(folder, 'init.sh');
    await writeFile(init, script);
    const args = ['--mount', '--pid', '--net', '--fork', '--kill-child', 'sh', init];
    const machine = spawn('unshare', args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#machine = machine;
    machine.stdin.on('error', () => undefined);
    const said = await Promise.race([firstText(machine.stdout), allText(machine.stderr)]);
    if (said.trim() !== 'ready') throw new Error(`a machine of the stand-in did not start: ${said.trim()}`);
    const pid = String(machine.pid);
    this.#init = Number((await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim());
  }

  /** Runs a shell script as root. */
  run(script: string): GuestScript {
    const args = ['-t', String(this.#init), '-m', '-p', '-n', '--', 'env', '-i', ...BASE_ENV, 'sh', '-c', script];
    const child = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const ended = (async () => {
      const [stdout, stderr, [code]] = await Promise.all([
        allText(child.stdout),
        allText(child.stderr),
        once(child, 'exit') as Promise<[number | null]>,
      ]);
      return { exitCode: code ?? -1, stdout, stderr };
    })();
    return { ended, kill: () => killGroup(child) };
  }

  /** Ends everything on the machine at once. */
  async stop(isDiskKept: boolean): Promise<void> {
    const machine = this.#machine;
    this.#machine = undefined;
    for (const server of this.#servers.splice(0)) server.close();
    if (machine !== undefined && machine.exitCode === null && machine.signalCode === null) {
      const gone = once(machine, 'exit');
      if (this.#init > 1) process.kill(this.#init, 'SIGKILL');
      else machine.kill('SIGKILL');
      await gone;
    }
    if (!isDiskKept) await rm(this.#options.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #lead(from: Place, to: Place): Promise<Server> {
    const server = createServer((socket) => {
      const other = connect(to);
      socket.pipe(other).pipe(socket);
      socket.on('error', () => other.destroy()).on('close', () => other.destroy());
      other.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    });
    this.#servers.push(server);
    if ('path' in from) await rm(from.path, { force: true });
    server.listen(from);
    await once(server, 'listening');
    return server;
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  process.kill(-child.pid, 'SIGKILL');
}

async function firstText(stream: NodeJS.ReadableStream): Promise<string> {
  const [chunk] = (await once(stream, 'data')) as [Buffer];
  return chunk.toString('utf8');
}

async function allText(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
