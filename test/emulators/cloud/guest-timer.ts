import type { MachineRecord } from './machine-record.ts';

/** The unit files that a script writes by here-documents, with the script's own variables put in. */
function unitFiles(script: string): ReadonlyMap<string, string> {
  const assigned = new Map(
    [...script.matchAll(/^(\w+)='([^'\n]*)'$/gmu)].map(([, name = '', value = '']) => [name, value]),
  );
  const files = [...script.matchAll(/^cat >\S*\/([\w.-]+) <<'?EOF'?\n([\s\S]*?)\nEOF$/gmu)];
  return new Map(
    files.map(([, name = '', text = '']) => [
      name,
      text.replace(/\$\{?(\w+)\}?/gu, (whole, variable: string) => assigned.get(variable) ?? whole),
    ]),
  );
}

/**
 * When a Linux machine shuts itself down by a timer that its user data writes and enables: the moment of the timer's `OnCalendar`, of
 * a service that powers off. @returns null for a machine that has none.
 */
export function guestTimerOf({ os, launch }: Pick<MachineRecord, 'os' | 'launch'>): Date | null {
  const script = Buffer.from(launch.UserData ?? '', 'base64').toString();
  const enabled = /^systemctl enable --now ([\w.-]+\.timer)$/mu.exec(script)?.[1];
  if (os !== 'linux' || enabled === undefined) return null;
  const files = unitFiles(script);
  const timer = files.get(enabled) ?? '';
  const service = files.get(/^Unit=(\S+)$/mu.exec(timer)?.[1] ?? '') ?? '';
  if (!/^ExecStart=\/bin\/systemctl (?:--force )?poweroff$/mu.test(service)) return null;
  const at = /^OnCalendar=(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/mu.exec(timer);
  return at === null ? null : new Date(`${String(at[1])}T${String(at[2])}Z`);
}
