import type { Command } from 'commander';
import { sweepCommand } from '#cli/remote/sweep-command';

/** `examhall pause <sweep>` */
export function pauseCommand(): Command {
  return sweepCommand('pause', {
    operationId: 'pauseSweep',
    description: 'Pause a sweep: no more units start, those that run go on. Its deadline does not move.',
    follows: 'Units that run go on; `examhall resume` lets others start again.',
  });
}
