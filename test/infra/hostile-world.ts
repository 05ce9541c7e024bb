import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PreflightFacts } from '#core/preflight-check';
import { bundleGuestRunner } from '#local/sandboxes/guest-bundle';
import { HostileNetwork } from './hostile-network.ts';
import { HostilePrograms } from './hostile-programs.ts';
import { HostileMachine, ON_MACHINE } from './hostile-machine.ts';
import type { Walls } from './hostile-walls.ts';

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

/** `null`: there are none. */
export async function openWorld(walls: Walls | null): Promise<World> {
  const folder = mkdtempSync(path.join(tmpdir(), 'examhall-hostile-'));
  const network = await HostileNetwork.open(['sandbox', 'sibling', 'caller', 'stranger']);
  const programs = new HostilePrograms(network);
  const ownLink = await programs.startProvider({
    statements: walls?.role ?? [],
    openTo: walls === null ? [network.place('sandbox').address] : [],
    objects: { folder: path.join(folder, 'objects'), ownKey: OWN_KEY, otherKey: OTHER_KEY },
  });
  for (const place of ['sandbox', 'sibling'] as const) await programs.startDesktop(place);
  if (walls !== null) {
    network.filter('provider', walls.groups);
    network.filter('sandbox', walls.metadata);
  }
  const { path: runner } = await bundleGuestRunner(path.join(folder, 'guest'));
  const machine = await HostileMachine.start(network, 'sandbox', runner);
  const close = async (): Promise<void> => {
    await machine.close();
    programs.end();
    await network.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const changed = ownLink.replace(encodeURIComponent(OWN_KEY), encodeURIComponent(OTHER_KEY));
  const facts = factsOf(network, { changedLink: walls === null ? ownLink : changed, endpoint: programs.endpoint });
  return { network, machine, ownLink, facts, close };
}

function factsOf(network: HostileNetwork, given: Pick<PreflightFacts, 'changedLink' | 'endpoint'>): PreflightFacts {
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
    siblingAddress: network.place('sibling').address,
    publicAddress: network.place('sandbox').address,
    tokenStart: TOKEN.slice(0, 10),
    ...given,
  };
}
