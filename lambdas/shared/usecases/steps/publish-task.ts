import { refuseIfAny } from '#core/api-refusal';
import { solutionsKey, taskManifestKey, type PublishedTask } from '#core/catalog';
import { PublishedTaskRowSchema, type PublishedTaskRow } from '#core/catalog-rows';
import { rowKeys } from '#core/keys';
import { PROBLEMS_SHOWN } from '#core/offered-files';
import { offeredTaskFiles, taskProblems } from '#core/offered-task';
import { readTaskCard } from '#core/task-card';
import type { PublishAnswer } from '#contracts/api-schemas';
import type { TaskOffer } from '#contracts/publish-offer';
import type { Ports } from '#ports/ports';
import { missingUploads, putOnce } from './publish-uploads.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'clock' | 'digest'>;

/**
 * Takes a task revision that a publisher offers: answers with what is still to be uploaded, or, once all is there, writes its
 * manifests, that of the task last, and names it in the catalogue. Safe to repeat and to race.
 * @throws ApiRefusal with every problem, before anything is read or written.
 */
export async function offerTask(offer: TaskOffer, principalArn: string, ports: Needs): Promise<PublishAnswer> {
  const { task, references, solutions } = offer;
  refuseIfAny(taskProblems(offer, ports.digest.sha256).slice(0, PROBLEMS_SHOWN));
  const named = { id: task.taskId, revision: task.revision };
  const uploads = await missingUploads(ports, offeredTaskFiles(offer));
  if (uploads.length > 0) return { ...named, isPublished: false, uploads: [...uploads] };
  await putOnce(ports, { bucket: 'references', key: taskManifestKey(task) }, references);
  await putOnce(ports, { bucket: 'tasks', key: solutionsKey(task) }, solutions);
  await putOnce(ports, { bucket: 'tasks', key: taskManifestKey(task) }, task);
  await nameTask(task, principalArn, ports);
  return { ...named, isPublished: true, uploads: [] };
}

/** Makes a published revision the one that the catalogue names. */
async function nameTask(
  task: PublishedTask,
  publishedBy: string,
  ports: Pick<Ports, 'unitStore' | 'clock'>,
): Promise<void> {
  const key = rowKeys.publishedTask(task.taskId);
  const before = PublishedTaskRowSchema.safeParse((await ports.unitStore.get(key))?.body).data;
  if (before?.revision === task.revision) return;
  const { card } = readTaskCard(task.card);
  const vm = task.card['vm'];
  const body: PublishedTaskRow = {
    taskId: task.taskId,
    revision: task.revision,
    manifestKey: taskManifestKey(task),
    publishedAt: ports.clock.now().toISOString(),
    publishedBy,
    variants: task.variants.map(({ index, name }) => ({ index, name })),
    snapshot: card.snapshot,
    os: osOf(vm) ?? osOf(task.card),
    network: card.network.mode,
  };
  await ports.unitStore.write([{ put: { ...key, body }, when: 'any' }]);
}

function osOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const named = 'os' in value ? value.os : 'osType' in value ? value.osType : null;
  return typeof named === 'string' ? named.slice(0, 64) : null;
}
