import { Command } from 'commander';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { openClient } from '#cli/remote/open-client';

const EXAMPLES = `
Examples:
  examhall watch sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --stage prod
  examhall watch sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --host http://127.0.0.1:7878 --json

Ctrl-C ends the watching, never the sweep. Exit code 0 only if every unit completed; 1 if not, 3 if the sweep failed as a whole.`;

/** `examhall watch <sweep>` */
export function watchCommand(): Command {
  const command = new Command('watch')
    .description('Follow a sweep to its end and print how each unit ended.')
    .argument('<sweep>', 'sweep id')
    .option('--json', 'print one JSON object at the end; progress goes to standard error')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(
    async (sweepId: string, options: HostOptions & { readonly json?: boolean }) => {
      const client = await openClient(options);
      const { watchToEnd } = await import('#cli/remote/watch-to-end');
      process.exitCode = await watchToEnd(client, sweepId, options.json === true);
    },
  );
}
