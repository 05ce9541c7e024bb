/** Most items worked on at once. */
const AT_ONCE = 16;

export interface Guard<T> {
  readonly atOnce?: number;
  readonly onFailure: (item: T, error: unknown) => void;
}

/**
 * Does `work` for every item, some at a time. One that fails is told to `onFailure` and keeps no other from its turn.
 * @throws the first failure, when all have had their turn.
 */
export async function forEachGuarded<T>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<void>,
  { atOnce = AT_ONCE, onFailure }: Guard<T>,
): Promise<void> {
  const failures: unknown[] = [];
  const running = new Set<Promise<void>>();
  const guarded = async (item: T): Promise<void> => {
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
      onFailure(item, error);
    }
  };
  for await (const item of items) {
    const task = guarded(item);
    running.add(task);
    void task.then(() => running.delete(task));
    if (running.size >= atOnce) await Promise.race(running);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
