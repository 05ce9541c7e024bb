import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { commandLineError } from '#cli/remote/command-line-error';
import { isConfirmed } from '#cli/remote/confirm';
import { withHostOptions, wholeNumber, type HostOptions } from '#cli/remote/host-options';
import { openClient, print } from '#cli/remote/open-client';
import { plainText } from '#cli/remote/plain-text';
import { sandboxTable } from '#cli/remote/sandbox-text';
import type { Stopped } from '#cli/remote/stop-all';
import { widthOf } from '#cli/remote/text-table';

interface StopCommandOptions extends HostOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly wait: number;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall stop --all --stage prod
  examhall stop --all --yes --wait 0 --stage prod --json
  examhall stop --all --host http://127.0.0.1:7878

Units that run are stopped, recorded and released by their own machines; orphans are ended by the reaper at their second
sighting. Sandboxes that were kept on purpose stay. One sweep alone is stopped by \`examhall cancel\`.
Exit code 0 once everything is released, 1 if something is still there when the time is over or a sweep could not be
cancelled, 2 if it was not confirmed.`;

/** `examhall stop --all` */
export function stopCommand(): Command {
  const command = new Command('stop')
    .description('Cancel every open sweep of a host, and look on until all sandboxes are released.')
    .option('--all', 'needed: every sweep, whoever started it')
    .option('--yes', 'do not ask')
    .option('--wait <minutes>', 'look on for so long; 0 only asks', wholeNumber(0, 1440), 30)
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (options: StopCommandOptions) => {
    process.exitCode = await stop(options);
  });
}

async function stop(options: StopCommandOptions): Promise<number> {
  if (options.all !== true) {
    throw commandLineError({
      what: 'it is not said what to stop',
      got: 'no --all',
      allowed: '--all for every sweep of the host',
      action: 'give --all, or `examhall cancel <sweep>` for one',
    });
  }
  const client = await openClient(options);
  const question = `Cancel every open sweep at ${client.baseUrl.host}, whoever started it, and release its sandboxes?`;
  if (!(await isConfirmed({ question, yes: options.yes }))) {
    process.stderr.write('nothing was stopped\n');
    return EXIT.badInput;
  }
  const { stopAll } = await import('#cli/remote/stop-all');
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const stopped = await stopAll(client, { waitMinutes: options.wait, tell });
  print(options.json, stopped, () => textOf(stopped));
  const isOver = stopped.left.length === 0 || options.wait === 0;
  return isOver && stopped.sweeps.every(({ error }) => error === null) ? EXIT.done : EXIT.notAllCompleted;
}

const RESULTS = {
  cancelled: 'cancelled',
  already: 'was cancelled already',
  ended: 'had come to its end',
  failed: 'NOT cancelled',
} as const;

function textOf({ sweeps, left, kept }: Stopped): string {
  const lines = sweeps.map(({ sweepId, name, result, error }) => {
    const why = error === null ? '' : `: ${plainText(error)}`;
    return `${sweepId}  ${plainText(name)}  ${RESULTS[result]}${why}`;
  });
  const still = left.length === 0 ? 'no sandbox is left' : `still there:\n${sandboxTable(left, widthOf())}`;
  const onPurpose = kept.length === 0 ? [] : [`${String(kept.length)} sandboxes were kept on purpose and stay`];
  return [...(lines.length === 0 ? ['no sweep was open'] : lines), still, ...onPurpose].join('\n');
}
