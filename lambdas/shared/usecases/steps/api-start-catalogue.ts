import type { RequestProblem } from '#core/api-refusal';
import { agentManifestKey, taskManifestKey, type PublishedAgent, type PublishedTask } from '#core/catalog';
import { PublishedAgentRowSchema, PublishedTaskRowSchema } from '#core/catalog-rows';
import { isErrorNamed } from '#core/errors';
import { rowKeys } from '#core/keys';
import { readTaskCard, type TaskCard } from '#core/task-card';
import type { StartSweepBody } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import { forEachGuarded } from './for-each.ts';
import { readAgent, readTask } from './inputs.ts';
import { findRow } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts'>;

export interface WantedAgent {
  /** Output folder name. */
  readonly id: string;
  readonly model: string | null;
  readonly config: Readonly<Record<string, unknown>>;
  readonly published: PublishedAgent;
  readonly manifestKey: string;
}

export interface WantedTask {
  readonly path: string;
  readonly published: PublishedTask;
  readonly card: TaskCard;
  readonly manifestKey: string;
  readonly variants: readonly number[];
}

export interface Wanted {
  readonly agents: readonly WantedAgent[];
  readonly tasks: readonly WantedTask[];
}

/** Finds what a request names in the catalogue, each thing at the revision it pins; what is not there is a problem. */
export async function findWanted(
  body: StartSweepBody,
  ports: Needs,
): Promise<Wanted & { readonly problems: readonly RequestProblem[] }> {
  const problems: RequestProblem[] = [];
  const agents = await findEach(body.agents, problems, async (wish, path) => await findAgent(wish, path, ports));
  const tasks = await findEach(body.tasks, problems, async (wish, path) => await findTask(wish, path, ports));
  return { agents, tasks, problems };
}

type Found<T> = { readonly found: T } | { readonly problem: RequestProblem };

/** In order, some at a time. */
async function findEach<W, T>(
  wishes: readonly W[],
  problems: RequestProblem[],
  find: (wish: W, index: number) => Promise<Found<T>>,
): Promise<readonly T[]> {
  const results: Found<T>[] = [];
  await forEachGuarded(
    wishes.entries(),
    async ([index, wish]) => {
      results[index] = await find(wish, index);
    },
    { onFailure: () => undefined },
  );
  return results.flatMap((result) => {
    if ('found' in result) return [result.found];
    problems.push(result.problem);
    return [];
  });
}

async function findAgent(
  wish: StartSweepBody['agents'][number],
  index: number,
  { unitStore, artifacts }: Needs,
): Promise<Found<WantedAgent>> {
  const { agentId } = wish;
  const problem = (what: string, message: string): Found<WantedAgent> => ({
    problem: { path: `body.agents[${String(index)}].${what}`, message },
  });
  const row = await findRow(unitStore, rowKeys.publishedAgent(agentId), PublishedAgentRowSchema);
  if (row === undefined)
    return problem('agentId', `there is no published agent ${agentId}; GET /agents lists those there are`);
  const { revision = row.value.revision } = wish;
  const manifestKey = agentManifestKey({ agentId, revision });
  const published = await orAbsent('UnknownAgentError', async () => await readAgent(artifacts, manifestKey));
  if (published === null) return problem('revision', `agent ${agentId} has no published revision ${revision}`);
  const { model, config, id = agentId } = wish;
  return { found: { id, model, config, published, manifestKey } };
}

async function findTask(
  wish: StartSweepBody['tasks'][number],
  index: number,
  { unitStore, artifacts }: Needs,
): Promise<Found<WantedTask>> {
  const { path } = wish;
  const problem = (what: string, message: string): Found<WantedTask> => ({
    problem: { path: `body.tasks[${String(index)}].${what}`, message },
  });
  const row = await findRow(unitStore, rowKeys.publishedTask(path), PublishedTaskRowSchema);
  if (row === undefined) return problem('path', `task ${path} is not published; GET /tasks lists those that are`);
  const { revision = row.value.revision } = wish;
  const manifestKey = taskManifestKey({ taskId: path, revision });
  const published = await orAbsent('UnknownTaskError', async () => await readTask(artifacts, manifestKey));
  if (published === null) return problem('revision', `task ${path} has no published data of revision ${revision}`);
  const { card, problems } = readTaskCard(published.card);
  const [wrong] = problems;
  if (wrong !== undefined) return problem('path', `the card of ${path} cannot be used: ${wrong.what}`);
  const last = published.variants.length - 1;
  const { variants = published.variants.map((_, at) => at) } = wish;
  const unknown = variants.filter((variant) => variant > last);
  if (unknown.length > 0) {
    return problem(
      'variants',
      `${path} has no variant ${unknown.slice(0, 10).join(', ')}; allowed: 0 to ${String(last)}`,
    );
  }
  const repeated = variants.find((variant, at) => variants.indexOf(variant) !== at);
  if (repeated !== undefined) return problem('variants', `variant ${String(repeated)} of ${path} is named twice`);
  return { found: { path, published, card, manifestKey, variants } };
}

/** Null for a manifest that is not there; reading fails in other ways too, and those are ours. */
async function orAbsent<T>(name: 'UnknownAgentError' | 'UnknownTaskError', read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (isErrorNamed(error, name)) return null;
    throw error;
  }
}
