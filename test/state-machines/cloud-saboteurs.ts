import { setTimeout as sleep } from 'node:timers/promises';
import { rowKeys, rowPrefixes } from '#core/keys';
import { AttemptRowSchema, UnitRowSchema, type AttemptRow, type UnitRow } from '#core/rows';
import { publishCloudAgent } from './cloud-agents.ts';
import { CloudWorld } from './cloud-world.ts';

/** An agent of one's own, and what somebody with root's rights does on its machine meanwhile. */
export interface Saboteur {
  readonly id: string;
  /** For Node, as the agent's account. */
  readonly source: string;
  /** For a shell, as root, from the machine's first moment on. */
  readonly asRoot?: string;
}

/** What became of one saboteur's unit. */
interface Sabotaged {
  readonly unit: UnitRow;
  readonly attempts: readonly AttemptRow[];
  /** What it printed, as its record has it. */
  readonly said: string;
}

export interface SabotagedSweep {
  readonly of: (id: string) => Sabotaged;
  readonly machines: number;
  readonly leftovers: readonly string[];
  close(): Promise<void>;
}

/**
 * One sweep over the stand-in in which each saboteur has a unit and a machine of its own, and may be tried three times. Where
 * somebody acts as root the agents may become that.
 */
export async function sabotage(saboteurs: readonly Saboteur[], wallTimeSeconds: number): Promise<SabotagedSweep> {
  const world = await CloudWorld.open();
  const over = new AbortController();
  try {
    const store = world.host.ports.artifacts;
    const agents = [];
    for (const { id, source } of saboteurs) {
      const manifestKey = await publishCloudAgent(store, { source });
      agents.push({ id, agentId: 'scripted', harness: id, model: null, manifestKey, config: {} });
    }
    const limits = { maxAttempts: 3, wallTimeSeconds, concurrency: saboteurs.length };
    const privilege = saboteurs.some(({ asRoot }) => asRoot !== undefined) ? 'upstream' : 'restricted';
    const request = await world.request('quick', { agents, limits, privilege, collectOutput: true });
    const helping = helpAsRoot(world, saboteurs, over.signal);
    await world.host.startSweep(request.sweepId, request.run).done;
    await world.clock.elapse(30 * 60_000);
    over.abort();
    await helping;
    const seen = new Map(await Promise.all(saboteurs.map(async ({ id }) => [id, await outcomeOf(world, id)] as const)));
    const of = (id: string): Sabotaged => {
      const found = seen.get(id);
      if (found === undefined) throw new Error(`nobody is called ${id}`);
      return found;
    };
    const leftovers = await world.leftovers();
    return { of, machines: world.cloud.machines.all.size, leftovers, close: async () => await world.close() };
  } catch (error) {
    over.abort();
    await world.close();
    throw error;
  }
}

async function helpAsRoot(world: CloudWorld, saboteurs: readonly Saboteur[], over: AbortSignal): Promise<void> {
  const seen = new Set<string>();
  while (!over.aborted) {
    for (const machine of world.cloud.machines.all.values()) {
      if (seen.has(machine.instanceId)) continue;
      seen.add(machine.instanceId);
      const unit = machine.tags.get('examhall:agent') ?? '';
      const script = saboteurs.find(({ id }) => unit === id)?.asRoot;
      if (script === undefined) continue;
      const guest = await world.cloud.guests.of(machine);
      const running = guest.run(script);
      over.addEventListener('abort', () => running.kill());
      void running.ended.catch(() => undefined);
    }
    await sleep(50);
  }
}

async function outcomeOf(world: CloudWorld, id: string): Promise<Sabotaged> {
  const { pk } = rowKeys.sweep('first');
  const { rows } = await world.store.query({ pk, skPrefix: rowPrefixes.unit, limit: 100 });
  const units = rows.map(({ body }) => UnitRowSchema.parse(body));
  const unit = units.find((each) => each.unitId.includes(`__${id.replaceAll('-', '_')}__`));
  if (unit === undefined)
    throw new Error(`${id} has none of the units ${units.map(({ unitId }) => unitId).join(', ')}`);
  const found = await world.store.query({ pk: rowKeys.attempt(`${unit.unitId}.1`).pk, limit: 100 });
  const attempts = found.rows.map(({ body }) => AttemptRowSchema.parse(body));
  const files = [...world.runTree.files].filter(([file]) => file.includes(`/${id.replaceAll('-', '_')}/`));
  const said = files
    .filter(([file]) => file.endsWith('/console/stdout'))
    .map(([, content]) => content.toString('utf8'));
  return { unit, attempts, said: said.join('\n') };
}
