import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { bundle } from '../../../infra/bundler.ts';
import { Guest } from './guest.ts';
import type { MachineRecord } from './machine-record.ts';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');

/** The machines that something runs on. Each is started when it is first needed. */
export class Guests {
  readonly #started = new Map<string, Promise<Guest>>();
  readonly #stopping = new Set<Promise<void>>();
  readonly #ports: readonly number[];
  #folder: Promise<string> | undefined;
  #files: Promise<{ readonly runner: string; readonly programs: string }> | undefined;

  constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  async of(machine: MachineRecord): Promise<Guest> {
    const known = this.#started.get(machine.instanceId);
    if (known !== undefined) return await known;
    const starting = this.#start(machine);
    this.#started.set(machine.instanceId, starting);
    return await starting;
  }

  /** Host folder of a machine's disk. */
  async diskOf(instanceId: string): Promise<string> {
    return path.join(await this.#root(), instanceId, 'disk');
  }

  down(instanceId: string, isDiskKept: boolean): void {
    const guest = this.#started.get(instanceId);
    if (guest === undefined) return;
    this.#started.delete(instanceId);
    const stopping = guest.then(
      async (each) => await each.stop(isDiskKept),
      () => undefined,
    );
    this.#stopping.add(stopping);
    void stopping.finally(() => this.#stopping.delete(stopping));
  }

  async close(): Promise<void> {
    for (const instanceId of [...this.#started.keys()]) this.down(instanceId, false);
    await Promise.all(this.#stopping);
    if (this.#folder !== undefined) await rm(await this.#folder, { recursive: true, force: true });
  }

  async #start(machine: MachineRecord): Promise<Guest> {
    const [{ runner, programs }, root] = await Promise.all([this.#bundles(), this.#root()]);
    const guest = new Guest({
      folder: path.join(root, machine.instanceId),
      runner,
      programs,
      ports: this.#ports,
      isScreenBlack: machine.fault.blackScreen ?? false,
    });
    await guest.start();
    return guest;
  }

  #root(): Promise<string> {
    return (this.#folder ??= mkdtemp(path.join(os.tmpdir(), 'examhall-cloud-')));
  }

  #bundles(): Promise<{ readonly runner: string; readonly programs: string }> {
    return (this.#files ??= (async () => {
      const outDir = path.join(await this.#root(), 'bundles');
      const runner = await bundle(path.join(REPOSITORY, 'images/guest/runner.ts'), { outDir });
      const programs = await bundle(path.join(import.meta.dirname, 'guest-programs.ts'), { outDir });
      return { runner: runner.path, programs: programs.path };
    })());
  }
}
