import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { TASK_LIMITS } from '#core/catalog';
import { taskRevision } from '#core/offered-task';
import { utf8Bytes } from '#core/utf8';
import { rowKeys } from '#core/keys';
import type { ApiAnswer } from '#contracts/api-event';
import { answer, API_POLICY, apiEvent, routeNamed } from '#test/builders/api-call';
import { World } from '#test/builders/world';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const CODE = 'export const x = 1;';
const ROW_BYTES = 400_000;

interface Offered {
  readonly taskId?: string;
  readonly names?: readonly string[];
  readonly services?: readonly string[];
}

/** An offer that is right in all but what it is told to be. */
function offer({ taskId = 'demo/large', names = ['base'], services = [] }: Offered) {
  const modules = ['task.mjs', ...services.map((name) => `services/${name}.mjs`)];
  const records = modules.map((path) => ({ path, kind: 'module', value: sha256(CODE) }) as const);
  const card = { vm: { snapshot: 'cpu-free-ubuntu' } };
  const variants = names.map((name, index) => {
    const none = { metadata: {}, input: [], software: [], hasReference: false, hasSolution: false };
    return { name, index, prompt: 'Do it.', ...none };
  });
  const revision = taskRevision({ source: [], modules: records }, { card, hasStart: false, variants }, sha256);
  const compiled = (suffix: string) => ({
    path: suffix.split('/').at(-1) ?? suffix,
    key: `tasks/${taskId}/${revision.slice(7)}/files/${suffix}`,
    sha256: sha256(CODE),
    sizeBytes: CODE.length,
    executable: false,
  });
  const named = { version: 1, taskId, revision };
  const byName = Object.fromEntries(services.map((name) => [name, compiled(`services/${name}.mjs`)]));
  return {
    task: { ...named, card, module: compiled('task.mjs'), hasStart: false, services: byName, variants },
    references: { ...named, variants: names.map((name) => ({ name, reference: [] })) },
    solutions: { ...named, variants: names.map((name) => ({ name, solution: [] })) },
    source: [],
  };
}

/** The answer once the task's code has been uploaded. */
async function publish(world: World, offered: Offered): Promise<ApiAnswer> {
  const body = offer(offered);
  const { module, services } = body.task;
  for (const { key } of [module, ...Object.values(services)]) {
    if (!key.includes('..')) await world.artifacts.put({ bucket: 'tasks', key }, CODE);
  }
  const route = routeNamed('publishTask');
  return await answer(world, route, apiEvent(route, { role: 'publisher', body }));
}

const numbered = (count: number, length: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => String(at).padStart(length, 'v'));

describe('an offered task', () => {
  it('of the most variants with the longest names is published, and fits into a row', async () => {
    const world = new World({ policy: API_POLICY });
    const taskId = `demo/${'t'.repeat(123)}`;
    const names = numbered(TASK_LIMITS.variants, TASK_LIMITS.variantNameLength);
    const { statusCode, body } = await publish(world, { taskId, names });
    expect([statusCode, JSON.parse(body)]).toMatchObject([200, { isPublished: true }]);
    const row = await world.store.get(rowKeys.publishedTask(taskId));
    expect(utf8Bytes(JSON.stringify(row?.body))).toBeLessThan(ROW_BYTES / 2);
  });

  it.each([
    ['more variants', { names: numbered(1001, 8) }, 'body.task.variants', /are 1001; at most 1000 are allowed/u],
    ['a longer name', { names: ['v'.repeat(65)] }, 'body.task.variants[0].name', /has 65 characters; at most 64/u],
    ['a longer id', { taskId: `demo/${'t'.repeat(124)}` }, 'body.task.taskId', /at most 128 characters/u],
  ] as const)('with %s is refused', async (_, offered, path, message) => {
    const { statusCode, body } = await publish(new World({ policy: API_POLICY }), offered);
    const { problems } = JSON.parse(body) as { problems: { path: string; message: string }[] };
    expect([statusCode, problems.find((problem) => problem.path === path)?.message]).toEqual([
      path.endsWith('taskId') ? 400 : 422,
      expect.stringMatching(message),
    ]);
  });

  it.each(['', 'a/b', '../../../../../../tmp/x', 'a\nb', 'A', '1st', 's'.repeat(33)])(
    'with a service called %j is refused, as the compiler would',
    async (name) => {
      const { statusCode, body } = await publish(new World({ policy: API_POLICY }), { services: [name] });
      expect([statusCode, body]).toEqual([400, expect.stringContaining('body.task.services')]);
    },
  );

  it('with a service of a right name is published', async () => {
    const { statusCode } = await publish(new World({ policy: API_POLICY }), { services: ['s'.repeat(32), 'mail-2'] });
    expect(statusCode).toBe(200);
  });
});
