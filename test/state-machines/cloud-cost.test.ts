import { AsyncLocalStorage } from 'node:async_hooks';
import { beforeAll, expect, it } from 'vitest';
import { CLOUD_CALLS, type CloudCalls } from '#core/cloud-calls';
import { tier } from '#test/runner/tier';
import { CloudWorld } from './cloud-world.ts';

const KIND_OF: Readonly<Record<string, Exclude<keyof CloudCalls, 'sealedRequests'>>> = {
  RunInstances: 'ec2Changes',
  TerminateInstances: 'ec2Changes',
  DescribeInstances: 'ec2Looks',
  DescribeInstanceStatus: 'ec2Looks',
  DescribeVolumes: 'ec2Looks',
  DescribeNetworkInterfaces: 'ec2Looks',
  SendCommand: 'commands',
  ListCommandInvocations: 'commandLooks',
  DescribeInstanceInformation: 'commandLooks',
  Invoke: 'guestCalls',
};
const EXACT = ['ec2Changes', 'commands', 'guestCalls'] as const;
const LOOKS = ['ec2Looks', 'commandLooks'] as const;
/** Guests are processes of this computer: how often one is looked at depends on how fast they are. */
const MORE_LOOKS = 2;

/** Every request of the adapters while one unit goes through its machine, by function and kind. */
async function countUnit(): Promise<ReadonlyMap<string, Record<keyof CloudCalls, number>>> {
  const running = new AsyncLocalStorage<string>();
  const seen = new Map<string, Record<keyof CloudCalls, number>>();
  const world = await CloudWorld.open({
    invocation: async (name, call) => await running.run(name, call),
    onCall: (operation) => {
      const kind = KIND_OF[operation];
      if (kind === undefined) throw new Error(`${operation} is in no row of CLOUD_CALLS`);
      const name = running.getStore() ?? 'host';
      const none = { ec2Changes: 0, ec2Looks: 0, commands: 0, commandLooks: 0, guestCalls: 0, sealedRequests: 0 };
      const own = seen.get(name) ?? none;
      seen.set(name, { ...own, [kind]: own[kind] + 1 });
    },
  });
  try {
    const request = await world.request('quick');
    const { status } = await world.host.startSweep(request.sweepId, request.run).done;
    if (status !== 'SUCCEEDED') throw new Error(`the sweep ended ${status}`);
    return seen;
  } finally {
    await world.close();
  }
}

tier('isolation')('a unit on the stand-in for EC2', () => {
  let seen: ReadonlyMap<string, Record<keyof CloudCalls, number>> = new Map();

  beforeAll(async () => {
    seen = await countUnit();
  }, 120_000);

  it('makes the requests that the table says, function by function', () => {
    const counted = [...seen].filter(([name]) => !['watch-runs', 'reap-sandboxes'].includes(name));
    expect(counted.map(([name]) => name).toSorted()).toEqual(Object.keys(CLOUD_CALLS).toSorted());
    for (const [name, own] of counted) {
      const told = CLOUD_CALLS[name];
      for (const kind of EXACT) expect([name, kind, own[kind]]).toEqual([name, kind, told?.[kind]]);
      for (const kind of LOOKS) {
        const expected = told?.[kind] ?? 0;
        expect(own[kind] > 0, `${name} ${kind}`).toBe(expected > 0);
        expect(own[kind], `${name} ${kind}`).toBeLessThanOrEqual(expected * MORE_LOOKS);
        expect(own[kind], `${name} ${kind}`).toBeGreaterThanOrEqual(expected / MORE_LOOKS / 2);
      }
    }
  });

  it('seals a request for each command but the hello and the three waits for jobs', () => {
    const total = (key: keyof CloudCalls) => Object.values(CLOUD_CALLS).reduce((sum, each) => sum + each[key], 0);
    expect(total('sealedRequests')).toBe(total('commands') - 1 - 3);
  });
});
