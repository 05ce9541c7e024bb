import { rowKeys } from '#core/keys';
import { withFate } from '#core/teardown';
import type { GivenPorts } from '#local/embedded-host';
import type { Channel } from '#ports/channel';
import type { SandboxProvider } from '#ports/sandbox-provider';
import type { Row, RowWrite, UnitStore } from '#ports/unit-store';
import type { Interference, ModelWorld } from './world.ts';

export interface Mutant {
  readonly name: string;
  readonly interference: Interference;
  /** Part of what the property must say of it. */
  readonly seenAs: RegExp;
}

/** Changes what a store is given or gives. */
function withStore(change: (store: UnitStore, world: ModelWorld) => Partial<UnitStore>): Interference {
  return {
    ports: (ports, world) => {
      const { unitStore } = ports;
      const methods: UnitStore = {
        get: async (key) => await unitStore.get(key),
        query: async (query) => await unitStore.query(query),
        write: async (writes) => await unitStore.write(writes),
      };
      return { ...ports, unitStore: { ...methods, ...change(unitStore, world) } };
    },
  };
}

function withChannel(change: (channel: Channel, world: ModelWorld) => Partial<Channel>): Interference {
  return {
    ports: (ports, world) => ({
      ...ports,
      channels: { for: (sandbox) => overlaid(ports.channels.for(sandbox), (channel) => change(channel, world)) },
    }),
  };
}

function withProvider(
  change: (provider: SandboxProvider, world: ModelWorld) => Partial<SandboxProvider>,
): Interference {
  return {
    ports: (ports: GivenPorts, world): GivenPorts => {
      const wrong = (provider: SandboxProvider): SandboxProvider => overlaid(provider, (each) => change(each, world));
      const { providers } = ports;
      return {
        ...ports,
        providers: { get: (name) => wrong(providers.get(name)), all: () => providers.all().map(wrong) },
      };
    },
  };
}

/** The object with some of its methods replaced. */
function overlaid<T extends object>(target: T, change: (target: T) => Partial<T>): T {
  const changed = change(target);
  return new Proxy(target, {
    get: (_, key) => {
      if (Object.hasOwn(changed, key)) return Reflect.get(changed, key) as unknown;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const functionNow = (world: ModelWorld): string => world.truth.running.getStore()?.name ?? '';

/** Functions that answer without having done anything. */
function idle(...names: readonly string[]): Interference {
  return { invocation: async (name, call) => (names.includes(name) ? 'null' : await call()) };
}

const isPut = (write: RowWrite, pk: string): boolean => 'put' in write && write.put.pk.startsWith(pk);

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'the client token is dropped, and nothing is adopted',
    interference: { quirks: { dropsClientToken: true } },
    seenAs: /is launched beside/u,
  },
  {
    name: 'the intent row is skipped',
    interference: withStore((store) => ({
      write: async (writes) => {
        const kept = writes.filter(
          (write) => !(isPut(write, 'teardown#') && 'put' in write && write.put.body['kind'] === 'intent'),
        );
        if (kept.length > 0) await store.write(kept);
      },
    })),
    seenAs: /without an intent/u,
  },
  {
    name: 'the schedule is forgotten',
    interference: { host: ({ ports }) => void Object.assign(ports.timers, { create: async () => {} }) },
    seenAs: /without a schedule/u,
  },
  {
    name: 'no event is taken to be lost: nobody looks for the ends of jobs',
    interference: withChannel((channel, world) => ({
      status: async (sandbox, jobId) => {
        const status = await channel.status(sandbox, jobId);
        return functionNow(world) === 'watch-runs'
          ? { state: 'running', startedAt: '2026-01-01T00:00:00.000Z' }
          : status;
      },
    })),
    seenAs: /nothing had hit it/u,
  },
  {
    name: 'a slot is given back twice',
    interference: withStore((store) => ({
      write: async (writes) => {
        await store.write(writes);
        const isFreed = writes.some((write) => 'remove' in write && write.remove.pk === 'slots');
        const counted = writes.find((write) => isPut(write, 'slot-counters'));
        if (isFreed && counted !== undefined && 'put' in counted) await store.write([twice(counted.put.body)]);
      },
    })),
    seenAs: /counter of/u,
  },
  {
    name: 'a machine that was told to end is taken for ended, with its vCPUs',
    interference: { quirks: { trustsTerminate: true } },
    seenAs: /is closed while|met the quota/u,
  },
  {
    name: 'volumes are left out of the teardown',
    interference: { quirks: { forgetsVolumes: true } },
    seenAs: /is closed while|volume/u,
  },
  {
    name: 'an unknown machine is reaped at its first sight',
    interference: withStore((store) => ({
      get: async (key) => (key.pk === 'sightings' ? longAgo(key.sk) : await store.get(key)),
    })),
    seenAs: /at its first sight/u,
  },
  {
    name: 'a stop is believed that ended nothing',
    interference: withChannel((channel) => ({
      stop: async (sandbox, jobId) => {
        await channel.stop(sandbox, jobId);
        return { confirmedDead: true, survivors: 0 };
      },
    })),
    seenAs: /while its agent was alive/u,
  },
  {
    name: 'a machine that is not found yet is taken for gone',
    interference: { quirks: { takesNotFoundForGone: true } },
    seenAs: /nothing had hit it|is closed while|has no outcome|left: machine/u,
  },
  {
    name: "the provider's reason for a loss is dropped, and the agent answers for it",
    interference: { quirks: { dropsEvidence: true } },
    seenAs: /was forfeited/u,
  },
  {
    name: "an agent's own failure earns another attempt",
    interference: withRetry((verdict) => verdict['ledgerClass'] === 'forfeited'),
    seenAs: /had another attempt|had \d attempts/u,
  },
  {
    name: 'attempts are not counted',
    interference: withRetry((verdict) => verdict['ledgerClass'] === 'lost'),
    seenAs: /had \d+ attempts/u,
  },
  {
    name: 'a job is started again by every repeat',
    interference: withChannel((channel) => {
      let starts = 0;
      return {
        start: async (sandbox, job) => {
          const again = `${job.jobId}.again${String((starts += 1))}`;
          await channel.start(sandbox, job);
          if (job.kind === 'exec') await channel.start(sandbox, { ...job, jobId: again });
        },
      };
    }),
    seenAs: /was started twice/u,
  },
  {
    name: 'a unit that has its grade has another attempt, and two winners',
    interference: withRetry((verdict) => verdict['ledgerClass'] === 'scored'),
    seenAs: /graded are/u,
  },
  {
    name: 'the reaper never runs',
    interference: idle('reap-sandboxes'),
    seenAs: /left:/u,
  },
  {
    name: 'what a listing shows is ended whoever wants it',
    interference: withProvider((provider) => ({
      list: async (cursor) => {
        const page = await provider.list(cursor);
        return {
          ...page,
          sandboxes: page.sandboxes.map((each) => ({ ...each, expiresAt: '2026-01-01T00:00:00.000Z' })),
        };
      },
    })),
    seenAs: /is ended by reap-sandboxes/u,
  },
  {
    name: 'what is to be kept is deleted, and called kept',
    interference: withProvider((provider) => ({
      release: async (sandbox, mode) => {
        const report = await provider.release(sandbox, 'delete');
        return mode === 'delete' ? report : withFate(report, 'set-aside');
      },
    })),
    seenAs: /by its ledger, and was ended by/u,
  },
  {
    name: 'what is to be detached stays ours',
    interference: withProvider((provider) => ({
      release: async (sandbox, mode) => await provider.release(sandbox, mode === 'detach' ? 'keep' : mode),
    })),
    seenAs: /left: machine|is closed while/u,
  },
  {
    name: 'what a guest under root says of a failure is believed',
    interference: withStore((store) => ({
      get: async (key) => believed(await store.get(key)),
      query: async (query) => {
        const page = await store.query(query);
        return { ...page, rows: page.rows.map((row) => believed(row) ?? row) };
      },
    })),
    seenAs: /was lost .* and nothing had hit it/u,
  },
];

/** The row of an attempt whose agent is no root. */
function believed(row: Row | undefined): Row | undefined {
  return row?.body['privilege'] === 'upstream' ? { ...row, body: { ...row.body, privilege: 'restricted' } } : row;
}

function twice(body: Readonly<Record<string, unknown>>): RowWrite {
  const counts: unknown = body['vCpusByProvider'];
  const used: unknown = typeof counts === 'object' && counts !== null ? Reflect.get(counts, 'aws') : undefined;
  const vCpusByProvider = { aws: (typeof used === 'number' ? used : 0) - 1 };
  return { put: { ...rowKeys.slotCounters(), body: { ...body, vCpusByProvider } }, when: 'any' };
}

function longAgo(sandboxId: string): Row {
  const body = { sandboxId, provider: 'aws', firstSeenAt: '2025-01-01T00:00:00.000Z' };
  return { ...rowKeys.sighting(sandboxId), version: 1, body };
}

/** CloseAttempt asks for another attempt where a verdict is like this. */
function withRetry(isRetried: (verdict: Readonly<Record<string, unknown>>) => boolean): Interference {
  return {
    invocation: async (name, call, world) => {
      const answer = await call();
      const attemptId = world.truth.running.getStore()?.attemptId ?? null;
      if (name !== 'close-attempt' || attemptId === null) return answer;
      const verdict = world.store.peek(rowKeys.attempt(attemptId))?.body['verdict'];
      const told = JSON.parse(answer) as { readonly nextAttempt: number };
      const isMore = told.nextAttempt <= 6 && isRetried(Object(verdict) as Readonly<Record<string, unknown>>);
      return isMore ? JSON.stringify({ ...told, retry: true }) : answer;
    },
  };
}
