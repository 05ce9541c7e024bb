import { Command } from 'commander';
import { withHostOptions, type HostOptions } from './host-options.ts';
import { openClient, print } from './open-client.ts';
import { sweepState } from './sweep-text.ts';

interface SweepCommandText {
  readonly operationId: 'cancelSweep' | 'pauseSweep' | 'resumeSweep';
  readonly description: string;
  /** What happens now, in a sentence. */
  readonly follows: string;
}

/** `examhall cancel|pause|resume <sweep>`: asks, and prints what the sweep is now. Asking twice is asking once. */
export function sweepCommand(name: 'cancel' | 'pause' | 'resume', text: SweepCommandText): Command {
  const examples = `
Examples:
  examhall ${name} sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --stage prod
  examhall ${name} sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --host http://127.0.0.1:7878 --json`;
  const command = new Command(name)
    .description(text.description)
    .argument('<sweep>', 'sweep id')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples);
  return withHostOptions(command).action(
    async (sweepId: string, options: HostOptions & { readonly json?: boolean }) => {
      const client = await openClient(options);
      const sweep = await client.call(text.operationId, { params: { sweepId } });
      print(options.json, sweep, () => `${sweep.sweepId}: ${sweepState(sweep)}. ${text.follows}`);
    },
  );
}
