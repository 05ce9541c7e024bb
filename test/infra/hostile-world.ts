import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PreflightFacts } from '#core/preflight-check';
import { bundleGuestRunner } from '#local/sandboxes/guest-bundle';
import { HostileMachine, ON_MACHINE } from './hostile-machine.ts';
import { HostileNetwork, METADATA_ADDRESS, type PlaceName } from './hostile-network.ts';
import type { ProviderSettings } from './hostile-provider.ts';
import type { Statement } from './iam-evaluator.ts';

const REPOSITORY = path.resolve(import.meta.dirname, '../..');
const PORT = 8080;
const OWN_KEY = 'attempts/own.1/list.json';
const OTHER_KEY = 'attempts/other.1/output/answer.txt';
export const TOKEN = 'AAAAKgAAAATokenOfTheTest';

/** A sandbox in its network, with what is tried against both. */
export interface World {
  readonly network: HostileNetwork;
  readonly machine: HostileMachine;
  readonly facts: PreflightFacts;
  readonly ownLink: string;
  close(): Promise<void>;
}

/** What the walls are made of; `null` where there are none. */
interface Walls {
  readonly groups: string | null;
  readonly role: readonly Statement[] | null;
  readonly metadata: string | null;
}

const EVERYTHING: readonly Statement[] = [{ Effect: 'Allow', Action: ['*'], Resource: ['*'], Condition: {} }];
/** Answers on the ports of a desktop whatever it is asked. */
const LISTENER = `for (const port of [22, 5000]) require('node:http').createServer((_, answer) => answer.end('cua')).listen(port);
setTimeout(() => console.log('up'), 100); process.stdin.resume().once('close', () => process.exit(0));`;

export async function openWorld(walls: Walls): Promise<World> {
  const folder = mkdtempSync(path.join(tmpdir(), 'examhall-hostile-'));
  const network = await HostileNetwork.open();
  const started = new Programs(network);
  const program = path.join(import.meta.dirname, 'hostile-provider.ts');
  const settings = JSON.stringify(settingsOf(network, walls, folder));
  const ownLink = await started.start('provider', ['--import', 'tsx', program, settings]);
  for (const place of ['sandbox', 'sibling'] as const) await started.start(place, ['-e', LISTENER]);
  if (walls.groups !== null) network.filter('provider', walls.groups);
  if (walls.metadata !== null) network.filter('sandbox', walls.metadata);
  const { path: runner } = await bundleGuestRunner(path.join(folder, 'guest'));
  const machine = await HostileMachine.start(network, 'sandbox', runner);
  const close = async (): Promise<void> => {
    await machine.close();
    started.end();
    await network.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const changed = ownLink.replace(encodeURIComponent(OWN_KEY), encodeURIComponent(OTHER_KEY));
  const facts = factsOf(network, walls.role === null ? ownLink : changed);
  return { network, machine, ownLink, facts, close };
}

/** Programs of Node in places of the network; they end with their input. */
class Programs {
  readonly #network: HostileNetwork;
  readonly #children: ChildProcess[] = [];

  constructor(network: HostileNetwork) {
    this.#network = network;
  }

  /** @returns the first line it prints. */
  async start(place: PlaceName, args: readonly string[]): Promise<string> {
    const [program = '', ...rest] = this.#network.in(place, [process.execPath, ...args]);
    const child = spawn(program, rest, { cwd: REPOSITORY, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#children.push(child);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return line.toString().trim();
  }

  end(): void {
    for (const child of this.#children) child.stdin?.destroy();
  }
}

function settingsOf(network: HostileNetwork, walls: Walls, folder: string): ProviderSettings {
  return {
    metadataAddress: METADATA_ADDRESS,
    address: network.place('provider').address,
    port: PORT,
    statements: walls.role ?? EVERYTHING,
    isPublic: walls.role === null,
    folder: path.join(folder, 'objects'),
    ownKey: OWN_KEY,
    otherKey: OTHER_KEY,
  };
}

function factsOf(network: HostileNetwork, changedLink: string): PreflightFacts {
  return {
    region: 'eu-central-1',
    stage: 'default',
    privilege: 'restricted',
    node: ON_MACHINE.node,
    runner: ON_MACHINE.runner,
    runnerKey: ON_MACHINE.key,
    jobs: ON_MACHINE.jobs,
    artifacts: 'artifacts',
    references: 'references',
    table: 'table',
    runDocument: 'examhall-default-run',
    otherAttemptKey: OTHER_KEY,
    changedLink,
    siblingAddress: network.place('sibling').address,
    publicAddress: network.place('sandbox').address,
    tokenStart: TOKEN.slice(0, 10),
    endpoint: `http://${network.place('provider').address}:${String(PORT)}/{service}`,
  };
}
