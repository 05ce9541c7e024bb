import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { GroupRule, NetworkModel } from './network-model.ts';

/** One side of the network: a network namespace that lives as long as its keeper. */
interface Place {
  readonly name: string;
  readonly pid: number;
  readonly address: string;
}

/** Addresses: the provider's own (metadata, services), sandboxes, the function that calls them, a stranger outside. */
export const ADDRESSES = {
  provider: '10.77.0.1',
  sandbox: '10.77.1.2',
  sibling: '10.77.2.2',
  caller: '10.77.3.2',
  loose: '10.77.4.2',
  stranger: '203.0.113.2',
} as const;
export type PlaceName = keyof typeof ADDRESSES;
const PLACES = ['sandbox', 'sibling', 'caller', 'loose', 'stranger'] as const satisfies readonly PlaceName[];
export const METADATA_ADDRESS = '169.254.169.254';

/**
 * A VPC of network namespaces: the provider's namespace routes between all others and filters as the security groups of the
 * template say. Everything ends with `close`, and with this process.
 */
export class HostileNetwork {
  readonly #keepers: ChildProcess[] = [];
  readonly #places = new Map<string, Place>();

  /** `places` besides the provider's, each with a namespace of its own; others may join. */
  static async open(places: readonly Exclude<PlaceName, 'provider'>[]): Promise<HostileNetwork> {
    const network = new HostileNetwork();
    network.#begin('provider', await network.#keep());
    for (const address of [ADDRESSES.provider, METADATA_ADDRESS])
      network.run('provider', ['ip', 'address', 'add', `${address}/32`, 'dev', 'lo']);
    network.run('provider', ['sysctl', '-qw', 'net.ipv4.ip_forward=1']);
    for (const name of places) network.join(name, await network.#keep());
    return network;
  }

  /** Makes the network namespace of a process one of the places. */
  join(name: Exclude<PlaceName, 'provider'>, pid: number): void {
    this.#begin(name, pid);
    const address = ADDRESSES[name];
    const gateway = address.replace(/\.2$/u, '.1');
    this.run('provider', ['ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]);
    this.run('provider', ['ip', 'address', 'add', `${gateway}/24`, 'dev', name]);
    this.run('provider', ['ip', 'link', 'set', name, 'up']);
    this.run(name, ['ip', 'address', 'add', `${address}/24`, 'dev', 'eth0']);
    this.run(name, ['ip', 'link', 'set', 'eth0', 'up']);
    this.run(name, ['ip', 'route', 'add', 'default', 'via', gateway]);
  }

  place(name: PlaceName): Place {
    const place = this.#places.get(name);
    if (place === undefined) throw new Error(`there is no ${name}`);
    return place;
  }

  /** The command line that runs a command in one place's network. */
  in(name: PlaceName, argv: readonly string[]): string[] {
    return ['nsenter', `--net=/proc/${String(this.place(name).pid)}/ns/net`, '--', ...argv];
  }

  /** Runs one command to its end. @throws Error with what it said when it fails. */
  run(name: PlaceName, argv: readonly string[], input = ''): string {
    const [program = '', ...args] = this.in(name, argv);
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', input, timeout: 20_000 });
    if (status !== 0) throw new Error(`${argv.join(' ')} in ${name} ended with ${String(status)}: ${stderr}${stdout}`);
    return stdout;
  }

  /** Rules of nftables, as text. */
  filter(name: PlaceName, rules: string): void {
    this.run(name, ['nft', '-f', '-'], rules);
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#keepers.map(async (keeper) => {
        const isOver = once(keeper, 'close');
        keeper.stdin?.destroy();
        await isOver;
      }),
    );
  }

  /** `cat` ends with its input, which this process holds. */
  async #keep(): Promise<number> {
    const keeper = spawn('unshare', ['--net', '--', 'sh', '-c', 'echo up; exec cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#keepers.push(keeper);
    await once(keeper.stdout, 'data');
    return keeper.pid ?? 0;
  }

  #begin(name: PlaceName, pid: number): void {
    this.#places.set(name, { name, pid, address: ADDRESSES[name] });
    this.run(name, ['ip', 'link', 'set', 'lo', 'up']);
  }
}

/** Where each security group of the template stands in this network; places that are not named are not there. */
type GroupsOfPlaces = Readonly<Partial<Record<Exclude<PlaceName, 'provider'>, string | null>>>;

/**
 * What the groups of a template let through between the places, as rules for the provider's namespace. A place without a group
 * is outside: nothing is asked of it, and it is reached by rules for any address.
 */
export function rulesOfGroups({ groups }: Pick<NetworkModel, 'groups'>, places: GroupsOfPlaces): string {
  const addressesOf = (peer: string): readonly string[] => {
    if (peer.includes('/')) return [peer];
    return PLACES.filter((name) => places[name] === peer).map((name) => ADDRESSES[name]);
  };
  const accept = (own: string, rule: GroupRule, peer: 'saddr' | 'daddr'): readonly string[] =>
    rule.peer.includes(':')
      ? []
      : addressesOf(rule.peer).map(
          (address) =>
            `${own} ip ${peer} ${address} ${protocolOf(rule)} mark set meta mark or ${peer === 'saddr' ? '1' : '2'}`,
        );
  const lines = PLACES.flatMap((name) => {
    const group = places[name];
    const own = ADDRESSES[name];
    if (group === undefined) return [];
    if (group === null) return [`ip daddr ${own} mark set meta mark or 1`, `ip saddr ${own} mark set meta mark or 2`];
    const rules = groups.get(group);
    if (rules === undefined) throw new Error(`the template has no group ${group}`);
    return [
      ...rules.ingress.flatMap((rule) => accept(`ip daddr ${own}`, rule, 'saddr')),
      ...rules.egress.flatMap((rule) => accept(`ip saddr ${own}`, rule, 'daddr')),
    ];
  });
  return `table inet groups {
  chain forward {
    type filter hook forward priority 0; policy drop;
    ct state established,related accept
    ${lines.map((line) => line.replace('mark set', 'meta mark set')).join('\n    ')}
    meta mark and 3 == 3 accept
  }
}
`;
}

function protocolOf({ protocol, from, to }: GroupRule): string {
  return protocol === '-1' ? '' : `${protocol} dport ${String(from)}-${String(to)}`;
}
