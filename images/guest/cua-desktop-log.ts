import { appendFile } from 'node:fs/promises';
import { guiEventLine, type GuiEvent } from '#core/cua/gui-event';

/** Writes one line for each call of a tool. A line that cannot be written is said once and stops no call. */
export type GuiLog = (event: GuiEvent) => Promise<void>;

export function createGuiLog(file: string | null): GuiLog {
  let isBroken = false;
  return async (event) => {
    if (file === null || isBroken) return;
    await appendFile(file, guiEventLine(event)).catch((error: unknown) => {
      isBroken = true;
      process.stderr.write(`no more GUI events are written: ${String(error)}\n`);
    });
  };
}
