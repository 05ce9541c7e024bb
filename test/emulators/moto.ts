import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { motoVenv } from './moto-installation.ts';

const START_TIMEOUT_MS = 60_000;

export interface MotoServer {
  readonly endpoint: string;
  /** What an AWS client needs to talk to it and to nothing else. */
  readonly clientConfig: {
    readonly endpoint: string;
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  /** Forgets everything it holds. */
  reset(): Promise<void>;
  /** Ends the process and waits until it is gone. */
  stop(): Promise<void>;
}

/** Starts moto's server, empty and in memory, on a free port of loopback. Needs tier `moto`. */
export async function startMotoServer(): Promise<MotoServer> {
  const port = await freePort();
  // "localhost" as a word: moto tells path-style requests by it.
  const endpoint = `http://localhost:${String(port)}`;
  const child = launch(port);
  try {
    await untilAnswering(child, `${endpoint}/moto-api/data.json`);
  } catch (error) {
    await end(child);
    throw error;
  }
  return {
    endpoint,
    clientConfig: {
      endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'testing', secretAccessKey: 'testing' },
    },
    reset: async () => {
      const response = await fetch(`${endpoint}/moto-api/reset`, { method: 'POST' });
      if (!response.ok) throw new Error(`moto's reset was answered ${String(response.status)}`);
    },
    stop: () => end(child),
  };
}

function launch(port: number): ChildProcess {
  const args = ['-H', '127.0.0.1', '-p', String(port)];
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], AWS_EC2_METADATA_DISABLED: 'true' };
  const child = spawn(motoVenv.program('moto_server'), args, { env, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

async function untilAnswering(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let spawnError: Error | undefined;
  child.once('error', (error) => (spawnError = error));
  for (;;) {
    if (spawnError !== undefined) throw spawnError;
    if (child.exitCode !== null) throw new Error(`moto ended with ${String(child.exitCode)} before it answered`);
    try {
      await fetch(url);
      return;
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`moto did not answer in ${String(START_TIMEOUT_MS)} ms`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
