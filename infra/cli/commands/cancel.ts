import type { Command } from 'commander';
import { sweepCommand } from '#cli/remote/sweep-command';

/** `examhall cancel <sweep>` */
export function cancelCommand(): Command {
  return sweepCommand('cancel', {
    operationId: 'cancelSweep',
    description: 'Cancel a sweep: units that wait are refused, those that run are stopped, recorded and released.',
    follows: 'Units that run are being stopped; `examhall watch` follows them to their end.',
  });
}
