/**
 * Parts of Node that only some verbs need. Loading them takes a supervisor as long as all its own work does, and a bundle
 * loads at once whatever is imported.
 */
export const lazy = {
  crypto: () => process.getBuiltinModule('node:crypto'),
  http: () => process.getBuiltinModule('node:http'),
  https: () => process.getBuiltinModule('node:https'),
} as const;

let named = 0;

/** Part of a file name that nothing else of this machine uses at this time. */
export function uniqueSuffix(): string {
  named += 1;
  return `${process.pid.toString(36)}-${process.hrtime.bigint().toString(36)}-${named}`;
}
