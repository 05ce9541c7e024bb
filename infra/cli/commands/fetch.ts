import path from 'node:path';
import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { openClient } from '#cli/remote/open-client';
import { StatusLine } from '#cli/remote/status-line';

interface FetchOptions extends HostOptions {
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall fetch sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --stage prod
  examhall fetch <unit> ./records --host http://127.0.0.1:7878
  examhall fetch sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 ./records --json

Every file is checked against the hash that its record has. Run it again to go on with a download that was broken off, or
to bring what has come since. \`examhall verify\` then checks a record whole, offline.
Exit code 0 only if everything asked for was closed and is here; 1 if units are still open, or the host
shows nothing of some, or gives other bytes than their records say.`;

/** `examhall fetch <sweep|unit> [folder]` */
export function fetchCommand(): Command {
  const command = new Command('fetch')
    .description('Download the records of a sweep, or of one unit, into a folder.')
    .argument('<sweep|unit>', 'sweep id or unit id')
    .argument('[folder]', 'folder for the records; each has its place below it', 'records')
    .option('--json', 'print one JSON object; progress goes to standard error')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (id: string, folder: string, options: FetchOptions) => {
    process.exitCode = await fetchAll(id, path.resolve(folder), options);
  });
}

async function fetchAll(id: string, folder: string, options: FetchOptions): Promise<number> {
  const client = await openClient(options);
  const { fetchSweep, missingFiles } = await import('#cli/remote/fetch-sweep');
  const line = new StatusLine(process.stderr);
  const ended = await fetchSweep(id, {
    client,
    folder,
    timeoutSeconds: options.timeout,
    tell: (text) => {
      line.show(text);
    },
  }).finally(() => {
    line.clear();
  });
  const damaged = ended.records.flatMap((record) => record.damaged.map((text) => `${record.attemptId}: ${text}`));
  const hidden = [
    ...ended.unshown.map((attemptId) => `${attemptId}: the host shows no files of it`),
    ...missingFiles(ended.records),
  ];
  if (options.json === true) process.stdout.write(`${JSON.stringify({ folder, ...ended, hidden })}\n`);
  else {
    for (const { folder: at, files, sentBytes } of ended.records)
      process.stdout.write(`${at}  ${String(files)} files${sentBytes === 0 ? ', all here already' : ''}\n`);
    process.stdout.write(
      `${String(ended.records.length)} records of ${String(ended.units)} units; ${String(ended.openUnits)} units are open\n`,
    );
    for (const text of damaged) process.stdout.write(`damaged: ${text}\n`);
    for (const text of hidden) process.stdout.write(`note: ${text}\n`);
  }
  return ended.openUnits === 0 && ended.unshown.length + damaged.length === 0 ? EXIT.done : EXIT.notAllCompleted;
}
