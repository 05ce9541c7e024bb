import { AsyncLocalStorage } from 'node:async_hooks';
import { beforeAll, expect, it } from 'vitest';
import { CLOUD_CALLS, cloudCallsOfUnit, type CloudCalls } from '#core/cloud-calls';
import type { CostEntry } from '#core/record';
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
/** Jobs that are waited for: the command itself holds what is asked. */
const WAITS = 3;
const EXACT = ['ec2Changes', 'commands', 'guestCalls'] as const;
const LOOKS = ['ec2Looks', 'commandLooks'] as const;
/** Guests are processes of this computer: how often one is looked at depends on how fast they are. */
const MORE_LOOKS = 2;

interface CountedUnit {
  readonly byFunction: ReadonlyMap<string, Record<keyof CloudCalls, number>>;
  /** What its attempt says of the pipeline's own cost. */
  readonly orchestration: CostEntry | undefined;
}

/** Every request of the adapters while one unit goes through its machine, by function and kind. */
async function countUnit(): Promise<CountedUnit> {
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
    const [attempt] = await world.attempts();
    return { byFunction: seen, orchestration: attempt?.cost?.find(({ part }) => part === 'orchestration') };
  } finally {
    await world.close();
  }
}

tier('isolation')('a unit on the stand-in for EC2', () => {
  let seen: CountedUnit['byFunction'] = new Map();
  let orchestration: CountedUnit['orchestration'];

  beforeAll(async () => {
    ({ byFunction: seen, orchestration } = await countUnit());
  }, 120_000);

  it('makes the requests that the table says, function by function', () => {
    const counted = [...seen].filter(([name]) => !['watch-runs', 'reap-sandboxes'].includes(name));
    expect(counted.map(([name]) => name).toSorted()).toEqual(Object.keys(CLOUD_CALLS).toSorted());
    for (const [name, own] of counted) {
      const told = CLOUD_CALLS[name];
      // Who waits for a machine greets it at each look, until it is ready.
      const isGreeting = name === 'await-sandbox';
      for (const kind of EXACT.filter((each) => !(isGreeting && each === 'commands')))
        expect([name, kind, own[kind]]).toEqual([name, kind, told?.[kind]]);
      if (isGreeting) expect(own.commands).toBeGreaterThanOrEqual(told?.commands ?? 1);
      if (isGreeting) expect(own.commands).toBeLessThanOrEqual(own.commandLooks);
      for (const kind of LOOKS) {
        const expected = told?.[kind] ?? 0;
        expect(own[kind] > 0, `${name} ${kind}`).toBe(expected > 0);
        expect(own[kind], `${name} ${kind}`).toBeLessThanOrEqual(expected * MORE_LOOKS);
        expect(own[kind], `${name} ${kind}`).toBeGreaterThanOrEqual(expected / MORE_LOOKS / 2);
      }
    }
  });

  it('has an attempt whose cost tells of as many sealed requests as the table has and as it really made', () => {
    // A hello is not sealed, and a slow machine is greeted more than once.
    const sealing = [...seen].filter(([name]) => !['watch-runs', 'await-sandbox'].includes(name));
    const sealed = sealing.reduce((sum, [, own]) => sum + own.commands, 0) - WAITS;
    expect(sealed).toBe(cloudCallsOfUnit().sealedRequests);
    expect(orchestration?.note).toContain(` ${String(sealed)} requests sealed for its guest`);
  });

  it('seals a request for each command but the hello and the three waits for jobs', () => {
    const total = (key: keyof CloudCalls) => Object.values(CLOUD_CALLS).reduce((sum, each) => sum + each[key], 0);
    expect(total('sealedRequests')).toBe(total('commands') - 1 - WAITS);
  });
});
