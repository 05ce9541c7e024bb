import type { SandboxEntry } from '#contracts/api-sandboxes';
import { durationText } from './pace.ts';
import { plainText } from './plain-text.ts';
import { shortTime } from './sweep-text.ts';
import { textTable, type Column } from './text-table.ts';

const OWNERS = { attempt: 'ours', kept: 'kept', detached: 'detached', orphan: 'orphan' } as const;

const COLUMNS: readonly Column<SandboxEntry>[] = [
  { title: 'sandbox', of: ({ sandboxId }) => sandboxId },
  { title: 'provider', of: ({ provider }) => provider },
  { title: 'state', of: ({ state }) => state },
  { title: 'owner', of: ({ owner }) => OWNERS[owner] },
  { title: 'age', of: ({ ageSeconds }) => (ageSeconds === null ? '-' : durationText(ageSeconds)), align: 'right' },
  { title: 'expires (UTC)', of: ({ expiresAt }) => shortTime(expiresAt) },
  { title: 'sweep', of: ({ sweepId }) => sweepId ?? '-', shrinks: true },
  { title: 'attempt', of: ({ attemptId }) => attemptId ?? '-', shrinks: true },
];

/** Sandboxes, for a person. No final newline. */
export function sandboxTable(entries: readonly SandboxEntry[], width: number | null): string {
  if (entries.length === 0) return 'no sandboxes';
  const unusual = entries.filter(({ owner }) => owner !== 'attempt');
  const told = unusual.map(({ sandboxId, why }) => `${sandboxId}: ${plainText(why)}`);
  return [textTable(COLUMNS, entries, width), countsText(entries), ...told].join('\n');
}

function countsText(entries: readonly SandboxEntry[]): string {
  const count = (owner: SandboxEntry['owner']): string =>
    String(entries.filter((entry) => entry.owner === owner && entry.state !== 'gone').length);
  const detached = entries.some(({ owner }) => owner === 'detached') ? `, ${count('detached')} detached` : '';
  return `${count('attempt')} used, ${count('kept')} kept on purpose${detached}, ${count('orphan')} without an owner`;
}

/** What the reaper does with each, one a line. No final newline. */
export function reapText(items: readonly SandboxEntry[], { kept, isComplete }: ReapFacts): string {
  const lines = items.map(({ reaper, provider, sandboxId, why }) => {
    return `${reaper === 'reap' ? 'ends ' : 'notes'}  ${provider} ${plainText(sandboxId)}: ${plainText(why)}`;
  });
  const rest = isComplete ? '' : '; there are more, which this answer has not looked at';
  return [...lines, `${String(items.length)} to note or end, ${String(kept)} to keep${rest}`].join('\n');
}

interface ReapFacts {
  readonly kept: number;
  readonly isComplete: boolean;
}
