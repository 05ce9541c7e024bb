import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { withHostOptions, wholeNumber, type HostOptions } from '#cli/remote/host-options';
import { openClient } from '#cli/remote/open-client';

interface LogsOptions extends HostOptions {
  readonly attempt?: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall logs <unit> --stage prod
  examhall logs <unit> --follow --host http://127.0.0.1:7878
  examhall logs <unit> --attempt 1 --json --stage prod

Following ends when the unit closes; Ctrl-C ends the following only. Exit code 1 when there are no events yet.`;

const EVERY_SECONDS = 3;

/** `examhall logs <unit>` */
export function logsCommand(): Command {
  const command = new Command('logs')
    .description('Print the events of a unit, from its run folder.')
    .argument('<unit>', 'unit id')
    .option('--attempt <number>', 'this attempt; the newest unless told', wholeNumber(1, 999_999))
    .option('--follow', 'go on until the unit closes')
    .option('--json', 'print the events as JSON, one a line')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (unitId: string, options: LogsOptions) => {
    process.exitCode = await logs(unitId, options);
  });
}

async function logs(unitId: string, { attempt, follow, json, ...options }: LogsOptions): Promise<number> {
  const client = await openClient(options);
  const { eventJson, eventText, readUnitLog } = await import('#cli/remote/unit-log');
  const { untilInterrupted } = await import('#cli/remote/follow');
  const { isLoopback } = await import('#cli/remote/http-exchange');
  const { plainText } = await import('#cli/remote/plain-text');
  const tell = (text: string): void => void process.stderr.write(`${plainText(text)}\n`);
  const reads = async (delay: (seconds: number) => Promise<void>): Promise<number> => {
    const wanted = { unitId, attempt: attempt ?? null, follow: follow === true };
    const hasLines = await readUnitLog(wanted, {
      client,
      delay,
      tell,
      nowSeconds: () => performance.now() / 1000,
      everySeconds: EVERY_SECONDS,
      download: { timeoutSeconds: options.timeout, allowsLoopback: isLoopback(client.baseUrl) },
      line: (text) => void process.stdout.write(`${json === true ? eventJson(text) : eventText(text)}\n`),
    });
    if (!hasLines)
      tell(`${unitId} has no events that can be read yet; \`examhall why ${unitId}\` says what it waits for`);
    return hasLines ? EXIT.done : EXIT.notAllCompleted;
  };
  return await untilInterrupted(reads, () => {
    tell(`${unitId} goes on without you.`);
  });
}
