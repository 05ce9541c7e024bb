import type { Command } from 'commander';
import { sweepCommand } from '#cli/remote/sweep-command';

/** `examhall resume <sweep>` */
export function resumeCommand(): Command {
  return sweepCommand('resume', {
    operationId: 'resumeSweep',
    description: 'Let the units of a paused sweep start again.',
    follows: 'Units start as slots come free.',
  });
}
