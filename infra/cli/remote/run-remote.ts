import { loadExperiment } from '#cli/config/load-experiment';
import { EXIT } from '#cli/explain-error';
import type { RunOptions } from '#cli/run-options';
import { refuseUnavailablePlaces } from '#core/environment';
import { ConfigError, formatProblem } from '#core/located';
import { duplicateUnits, unknownFilters } from '#core/matrix';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '#contracts/api-routes';
import type { ApiClient, CallAnswer } from './api-client.ts';
import { commandLineError } from './command-line-error.ts';
import { isLoopback } from './http-exchange.ts';
import { openClient, print } from './open-client.ts';
import { plainText } from './plain-text.ts';
import { startKey } from './start-key.ts';
import { startSweep } from './start-sweep.ts';
import { moneyText } from './sweep-text.ts';
import { sweepWish, type SweepWish } from './sweep-body.ts';

/** Starts an experiment on a host. The answer is the exit code. @throws ConfigError, RemoteError */
export async function runRemote(file: string, options: RunOptions): Promise<number> {
  const client = await openClient(options);
  const wish = await readWish(file, options, client);
  const key = await keyOf(wish, options, client);
  const started = await startSweep({ client, wish, key });
  const { sweepId } = started;
  if (options.watch === true && sweepId !== null) {
    process.stderr.write(`${startedText(started, client)}\n`);
    const { watchToEnd } = await import('./watch-to-end.ts');
    return await watchToEnd(client, sweepId, options.json === true);
  }
  print(options.json, started, () => startedText(started, client));
  return EXIT.done;
}

async function readWish(file: string, options: RunOptions, client: ApiClient): Promise<SweepWish> {
  const { experiment, warnings, env, secretNames } = await loadExperiment(file, {
    env: process.env,
    cwd: process.cwd(),
  });
  for (const warning of warnings) process.stderr.write(`warning: ${formatProblem(warning)}\n`);
  const filter = { agents: options.agent, tasks: options.task };
  const at = { file: 'command line', line: 1, column: 1 };
  const problems = [
    ...duplicateUnits(experiment),
    ...unknownFilters(experiment, filter, at),
    ...refuseUnavailablePlaces(experiment.environment),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  const secrets = [...secretNames].flatMap((name) => env[name] ?? []);
  return sweepWish(experiment, {
    filter,
    secrets,
    dryRun: options.dryRun === true,
    costCenter: costCenterOf(options, client),
  });
}

function costCenterOf({ costCenter }: RunOptions, { baseUrl }: ApiClient): string {
  const told = costCenter ?? process.env['EXAMHALL_COST_CENTER'] ?? '';
  if (told !== '') return told;
  if (isLoopback(baseUrl)) return 'local';
  throw commandLineError({
    what: 'the sweep has no cost center',
    got: 'neither --cost-center nor EXAMHALL_COST_CENTER',
    allowed: "one of the cost centers in the stage's settings",
    action: 'give one by --cost-center',
  });
}

async function keyOf(wish: SweepWish, { idempotencyKey }: RunOptions, { baseUrl }: ApiClient) {
  if (idempotencyKey !== undefined) {
    if (/^[\x21-\x7e]+$/u.test(idempotencyKey) && idempotencyKey.length <= MAX_IDEMPOTENCY_KEY_LENGTH)
      return { key: idempotencyKey, settle: () => Promise.resolve() };
    throw commandLineError({
      what: 'the idempotency key cannot be used',
      got: JSON.stringify(idempotencyKey),
      allowed: `1 to ${String(MAX_IDEMPOTENCY_KEY_LENGTH)} printable ASCII characters without spaces`,
      action: 'choose another',
    });
  }
  const key = await startKey(baseUrl.href, wish.body, { env: process.env, now: new Date() });
  if (key.repeats !== null)
    process.stderr.write(
      `the same start was asked for at ${key.repeats} and not answered; asking for that one again\n`,
    );
  return key;
}

function startedText(started: CallAnswer<'startSweep'>, { baseUrl }: ApiClient): string {
  const { sweepId, plannedUnits, agents, tasks, largestCostUsd, warnings } = started;
  const lines = warnings.map((warning) => `warning: ${plainText(warning)}`);
  const cost = largestCostUsd === null ? '' : `, at most ${moneyText(largestCostUsd)} by the price sheet`;
  const size = `${String(plannedUnits)} units: ${String(agents.length)} agents, ${String(tasks.length)} tasks${cost}`;
  if (sweepId === null) return [...lines, `dry run on ${baseUrl.host}: ${size}; nothing was started`].join('\n');
  return [...lines, `${sweepId} started on ${baseUrl.host}: ${size}`, `\`examhall watch ${sweepId}\` follows it`].join(
    '\n',
  );
}
