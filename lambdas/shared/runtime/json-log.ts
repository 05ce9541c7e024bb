import type { Log } from '#ports/ports';

/** One JSON line per event. `write` gets whole lines without their line feed. */
export function createJsonLog(write: (line: string) => void, now: () => Date): Log {
  const at =
    (level: string) =>
    (event: string, fields?: Readonly<Record<string, unknown>>): void => {
      write(JSON.stringify({ at: now().toISOString(), level, event, ...fields }));
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}
