import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { CONNECT_PROGRAM, ROLE_PROGRAM, WEB_PROGRAM } from '#core/preflight-programs';
import { METADATA } from '#core/preflight-checks';
import { checksFrom, outsideTargets, preflightScript, readPreflight } from '#core/preflight-script';
import type { HostileNetwork, PlaceName } from './hostile-network.ts';
import { tier } from '#test/runner/tier';
import { ON_MACHINE } from './hostile-machine.ts';
import { wallsOfDeployment } from './hostile-walls.ts';
import { openWorld, TOKEN, type World } from './hostile-world.ts';

vi.setConfig({ testTimeout: 200_000, hookTimeout: 240_000 });

/** What a program says when it is asked in one place of the network. */
function ask(network: HostileNetwork, place: PlaceName, program: string, args: readonly string[]): string {
  return network.run(place, [process.execPath, '-e', program, ...args]).trim();
}

function verdicts(results: readonly { readonly id: string; readonly verdict: string }[]): Record<string, string> {
  return Object.fromEntries(results.map(({ id, verdict }) => [id, verdict]));
}

tier('nftables')('a hostile guest behind the walls of a deployment', () => {
  let world: World;

  beforeAll(async () => {
    world = await openWorld(wallsOfDeployment());
  });
  afterAll(async () => {
    await world.close();
  });

  it('is refused everything it tries as the agent, and its console says by what', () => {
    const { machine, facts } = world;
    const result = machine.job('hostile', preflightScript('linux', 'agent', facts));
    expect(result).toMatchObject({ end: 'exited', confirmedDead: true, survivors: 0 });
    const results = readPreflight('agent', facts, machine.printed('hostile'));
    expect(results.filter(({ verdict }) => verdict !== 'refused')).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(12);
    for (const { id, evidence } of results) expect(evidence, id).not.toBe('');
  });

  it('is not there any more once its job was stopped, and its role lets root do no more', () => {
    const { machine, facts } = world;
    expect(machine.stop('hostile')).toEqual({ confirmedDead: true, survivors: 0 });
    const results = readPreflight('root', facts, machine.root(preflightScript('linux', 'root', facts)));
    expect(results.filter(({ verdict }) => verdict !== 'refused')).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(8);
  });

  it('is not reached from outside', () => {
    const targets = outsideTargets(world.facts);
    expect(targets.map(({ port }) => port)).toContain(5000);
    const ports = targets.map(({ port }) => String(port));
    const { address } = world.network.place('sandbox');
    expect(ask(world.network, 'stranger', CONNECT_PROGRAM, [address, ...ports])).toMatch(/^closed /u);
  });

  it('has what it needs all the same: its own link, and a desktop that our function reaches', () => {
    const { network, ownLink } = world;
    expect(ask(network, 'sandbox', WEB_PROGRAM, ['GET', ownLink, '', ''])).toBe('status 200 its own');
    const cua = `http://${network.place('sandbox').address}:5000/status`;
    expect(ask(network, 'caller', WEB_PROGRAM, ['GET', cua, '', ''])).toBe('status 200 cua');
  });

  it('leaves the role of the machine to root, who may exchange messages with it', () => {
    const { machine, facts } = world;
    const url = `${facts.endpoint?.replace('{service}', 'ssm') ?? ''}/`;
    const target = 'AmazonSSM.UpdateInstanceInformation';
    machine.root('cat > /run/role.js', ROLE_PROGRAM);
    const words = [METADATA, facts.region, 'ssm', url, target, 'application/x-amz-json-1.1', '{}'];
    const call = `${ON_MACHINE.node} -e "$(cat /run/role.js)" ${words.map((word) => `'${word}'`).join(' ')}`;
    expect(machine.root(call)).toBe('status 200 {"did":"ssm:UpdateInstanceInformation"}\n');
  });
});

/** Nothing of these programs is on the machine of the test. */
const NOT_HERE = ['stop-timer', 'start-later'];

tier('nftables')('the same list where there are no walls', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld(null);
    world.machine.root('cat > /tmp/token.txt', TOKEN);
  });
  afterAll(async () => {
    await world.close();
  });

  it('finds each of them open', () => {
    const { machine, facts } = world;
    const asRoot = machine.root(preflightScript('linux', 'agent', facts));
    const seen = verdicts(readPreflight('agent', facts, asRoot));
    const expected = checksFrom('agent', facts).map(({ id }) => [id, NOT_HERE.includes(id) ? 'refused' : 'reached']);
    expect(seen).toEqual(Object.fromEntries(expected));
    const results = readPreflight('root', facts, machine.root(preflightScript('linux', 'root', facts)));
    expect(results.filter(({ verdict }) => verdict !== 'reached')).toEqual([]);
    const { address } = world.network.place('sandbox');
    expect(ask(world.network, 'stranger', CONNECT_PROGRAM, [address, '5000', '22'])).toMatch(/^open /u);
  });
});
