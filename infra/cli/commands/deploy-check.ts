import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { commandLineError } from '#cli/remote/command-line-error';
import { CHECK_STATES, type DeployCheck } from '#cli/remote/deploy-check';
import { namesHost, withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { plainText } from '#cli/remote/plain-text';
import { paint } from '#cli/style';

interface DeployCheckOptions extends HostOptions {
  readonly settings?: string;
  readonly json?: boolean;
}

const COLOUR = { pass: 'green', warn: 'yellow', fail: 'red', unverified: 'dim' } as const;
const STATE_WIDTH = 10;

const EXAMPLES = `
Examples:
  examhall deploy-check --settings infra/config/stages/example.json
  examhall deploy-check --stage prod --settings infra/config/stages/prod.json
  examhall deploy-check --stage prod --profile research --region eu-central-1 --json

With both --stage and --settings it also looks at an account before the first deploy: quotas, and the routes of an existing VPC.
Works with whatever rights you have: what may not be looked at is unverified, with the right that is lacking.
Exit code 0 if nothing failed, 1 if something did.`;

/** `examhall deploy-check` */
export function deployCheckCommand(): Command {
  const command = new Command('deploy-check')
    .description(
      'Look at a stage: identity, deployment, tables, buckets, keys, quotas, routes, cost tags, API. Changes nothing.',
    )
    .option('--settings <file>', 'settings file of the stage; alone it is checked offline, without quotas and routes')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (options: DeployCheckOptions) => {
    process.exitCode = await deployCheck(options);
  });
}

async function deployCheck(options: DeployCheckOptions): Promise<number> {
  if (options.settings === undefined && !namesHost(options, process.env)) {
    throw commandLineError({
      what: 'there is nothing to look at',
      got: 'neither --stage, --host nor --settings',
      allowed: '--stage <name> for a stage, --settings <file> for a file',
      action: 'give one of them, or both',
    });
  }
  const { deployChecks } = await import('#cli/remote/deploy-check-all');
  const checks = await deployChecks(options, process.env);
  if (options.json === true) process.stdout.write(`${JSON.stringify({ checks })}\n`);
  else process.stdout.write(`${[...checks.flatMap(textOf), summaryOf(checks)].join('\n')}\n`);
  return checks.some(({ state }) => state === 'fail') ? EXIT.notAllCompleted : EXIT.done;
}

function textOf({ name, state, found, remedy }: DeployCheck): readonly string[] {
  const indent = ' '.repeat(STATE_WIDTH + 2);
  const [first = '', ...rest] = found.split('\n').map((line) => plainText(line));
  return [
    `${paint(COLOUR[state], state.padEnd(STATE_WIDTH))}  ${name}: ${first}`,
    ...rest.map((line) => `${indent}${line}`),
    ...(remedy === null ? [] : [`${indent}to do: ${plainText(remedy)}`]),
  ];
}

function summaryOf(checks: readonly DeployCheck[]): string {
  const counts = CHECK_STATES.map(
    (state) => `${String(checks.filter((check) => check.state === state).length)} ${state}`,
  );
  return counts.join(', ');
}
