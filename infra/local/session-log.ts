import { appendFileSync, closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import type { LogEvent } from '#core/log-events';
import type { Log } from '#ports/ports';
import { createJsonLog } from '#runtime/json-log';
import type { StorageWatch } from './storage-watch.ts';

type Listener = (event: string, fields: Readonly<Record<string, unknown>>) => void;

/** Lines go to `<folder>/<day>.jsonl`, kept open; the listener sees them first. After `close` they go nowhere else. */
export function openSessionLog(
  folder: string,
  watch: StorageWatch,
  onLog?: Listener,
): { readonly log: Log; close(): void } {
  mkdirSync(folder, { recursive: true });
  let file: number | null = openSync(path.join(folder, `${new Date().toISOString().slice(0, 10)}.jsonl`), 'a');
  const written = createJsonLog(
    (line) => {
      if (file === null) return;
      // A line that cannot be written must not fail what it tells of.
      try {
        appendFileSync(file, `${line}\n`);
      } catch (error) {
        watch.note(error, folder);
      }
    },
    () => new Date(),
  );
  const both =
    (level: 'info' | 'warn' | 'error') =>
    (event: LogEvent, fields: Readonly<Record<string, unknown>> = {}): void => {
      onLog?.(event, fields);
      written[level](event, fields);
    };
  const close = (): void => {
    if (file !== null) closeSync(file);
    file = null;
  };
  return { log: { info: both('info'), warn: both('warn'), error: both('error') }, close };
}
