import { EXIT } from '#cli/explain-error';
import type { ApiClient, CallAnswer } from './api-client.ts';
import { untilInterrupted } from './follow.ts';
import { isLoopback } from './http-exchange.ts';
import { allPages } from './pages.ts';
import { plainText } from './plain-text.ts';
import { StatusLine } from './status-line.ts';
import { countsText, sweepState, unitTable, whyHint } from './sweep-text.ts';
import { widthOf } from './text-table.ts';
import { watchSweep } from './watch-sweep.ts';

type Units = readonly CallAnswer<'listUnits'>['items'][number][];

/** More are a matter for `examhall units`. */
const MOST_UNITS_SHOWN = 200;
const NEAR_SECONDS = 1;
const FAR_SECONDS = 10;

/** Follows a sweep to its end and prints how each unit ended. The answer is the exit code. */
export async function watchToEnd(client: ApiClient, sweepId: string, isJson: boolean): Promise<number> {
  const line = new StatusLine(process.stderr);
  const looksOn = async (delay: (seconds: number) => Promise<void>): Promise<number> => {
    const sweep = await watchSweep(sweepId, {
      client,
      delay,
      nowSeconds: () => performance.now() / 1000,
      everySeconds: isLoopback(client.baseUrl) ? NEAR_SECONDS : FAR_SECONDS,
      show: (text) => {
        line.show(text);
      },
      tell: (text) => {
        line.print(text);
      },
    });
    line.clear();
    const units = await allPages(
      client,
      async (query) => await client.call('listUnits', { params: { sweepId }, query }),
    );
    process.stdout.write(isJson ? `${JSON.stringify({ sweep, units })}\n` : endText(sweep, units));
    return exitCodeOf(sweep, units);
  };
  const exitCode = await untilInterrupted(looksOn, () => {
    line.print(
      `${sweepId} goes on without you. \`examhall watch ${sweepId}\` follows it again, \`examhall cancel ${sweepId}\` ends it.`,
    );
  });
  line.clear();
  return exitCode;
}

function endText(sweep: CallAnswer<'getSweep'>, units: Units): string {
  const table =
    units.length <= MOST_UNITS_SHOWN ? unitTable(units, widthOf()) : `\`examhall units ${sweep.sweepId}\` lists them`;
  const mean = sweep.meanScore === null ? '' : `, mean score ${sweep.meanScore.toFixed(4)}`;
  return `${table}\n\n${countsText(sweep)}${mean}\n${sweep.sweepId}: ${sweepState(sweep)}; \`examhall fetch ${sweep.sweepId}\` brings the records${whyHint(units)}\n`;
}

function exitCodeOf({ status, error }: CallAnswer<'getSweep'>, units: Units): number {
  if (status === 'failed') {
    process.stderr.write(`the sweep failed as a whole: ${plainText(error ?? 'no reason given')}\n`);
    return EXIT.ourFault;
  }
  return units.length > 0 && units.every((unit) => unit.status === 'completed') ? EXIT.done : EXIT.notAllCompleted;
}
