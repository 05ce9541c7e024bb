import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { getSystemErrorMap } from 'node:util';

const REFUSED = 'EACCES';
const CONNECTS = ['connect', 'connect6', 'bind', 'bind6', 'listen', 'send', 'send6'] as const;
const NAMES = /^(?:query|getHostByAddr)/u;

/**
 * Takes from this process what Node's permission model leaves to it: connections, names and signals to others. Where a child
 * runs as its host's user in its host's network (a function), these are the ways to Lambda's own API on loopback and to a
 * debugger in the host. Closed where all of Node's clients meet, at the handles, which nobody can put back; a Node with
 * `--allow-net` is not given that and closes its network itself. Call it before any foreign code is loaded.
 * @param host the pipe to the host, which stays open.
 */
export function closeWaysOut(host: net.Socket): void {
  if (!process.allowedNodeEnvironmentFlags.has('--allow-net')) closeNetwork(host);
  closeSignals();
  syncBuiltinESMExports();
}

function closeNetwork(host: net.Socket): void {
  const refused = numberOf(REFUSED);
  for (const handle of handles(host)) {
    for (let of: unknown = handle; isObject(of) && of !== Object.prototype; of = Object.getPrototypeOf(of) as unknown) {
      for (const name of Object.getOwnPropertyNames(of)) {
        if (isWayOut(name)) seal(of, name, () => refused);
      }
    }
  }
  closeLookups();
}

function numberOf(code: string): number {
  return [...getSystemErrorMap()].find(([, [name]]) => name === code)?.[0] ?? -1;
}

function isWayOut(name: string): boolean {
  return CONNECTS.some((each) => each === name) || NAMES.test(name);
}

/** One prototype of each kind of handle that reaches something. */
function handles(host: net.Socket): readonly object[] {
  const socket = new net.Socket();
  socket.once('error', () => undefined);
  // Makes the handle at once; the connection itself would begin a tick later.
  socket.connect({ host: '127.0.0.1', port: 1 });
  const tcp = prototypeOf(Reflect.get(socket, '_handle'), 'TCP');
  socket.destroy();
  const datagrams = dgram.createSocket('udp4');
  const udp = prototypeOf(Reflect.get(datagrams, '_handle'), 'UDP');
  datagrams.close();
  const resolver = prototypeOf(Reflect.get(new dns.Resolver(), '_handle'), 'DNS');
  return [tcp, prototypeOf(Reflect.get(host, '_handle'), 'pipe'), udp, resolver];
}

/** @throws Error where this Node keeps its handles elsewhere: a child that cannot be closed must not start. */
function prototypeOf(handle: unknown, what: string): object {
  const prototype: unknown = isObject(handle) ? Object.getPrototypeOf(handle) : null;
  if (isObject(prototype) && prototype !== Object.prototype) return prototype;
  throw new Error(`this Node (${process.version}) does not show its ${what} handles, so they cannot be closed`);
}

/** Lookups by the system's resolver have no handle. */
function closeLookups(): void {
  for (const [of, isPromise] of [
    [dns, false],
    [dns.promises, true],
  ] as const) {
    for (const name of ['lookup', 'lookupService'] as const) {
      seal(of, name, (...args: readonly unknown[]): unknown => {
        const error = Object.assign(new Error(`${name} is not allowed here`), { code: REFUSED });
        if (isPromise) return Promise.reject(error);
        const callback = args.at(-1);
        if (typeof callback !== 'function') throw error;
        process.nextTick(() => void Reflect.apply(callback, undefined, [error]));
        return undefined;
      });
    }
  }
}

/** A process may end itself; a signal to its host would end that, or open its debugger. */
function closeSignals(): void {
  const deliver = Reflect.get(process, '_kill') as (pid: number, signal: number) => number;
  const own = process.pid;
  const refused = numberOf('EPERM');
  seal(process, '_kill', (pid: unknown, signal: unknown) =>
    pid === own && typeof signal === 'number' ? deliver(own, signal) : refused,
  );
  seal(process, '_debugProcess', () => {
    throw Object.assign(new Error('debugging another process is not allowed here'), { code: REFUSED });
  });
}

function seal(of: object, name: string, value: (...args: readonly unknown[]) => unknown): void {
  Object.defineProperty(of, name, { value, writable: false, configurable: false, enumerable: true });
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
