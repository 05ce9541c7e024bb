import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { commandLineError } from '#cli/remote/command-line-error';
import { isConfirmed } from '#cli/remote/confirm';
import { wantedHost, withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { print } from '#cli/remote/open-client';
import { plainText } from '#cli/remote/plain-text';
import { paint } from '#cli/style';
import type { PreflightRecord } from '#cli/cloud/preflight-stage';

interface PreflightCommandOptions extends HostOptions {
  readonly record?: string;
  readonly end?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall preflight i-0123456789abcdef0 --stage prod
  examhall preflight i-0123456789abcdef0 --end --yes --record preflight.json --stage prod --json

Tries on one sandbox what a hostile agent would: other attempts' files, references, metadata, other sandboxes, task tokens, the
runner's key, outliving its stop. Every check and its evidence go into the file of --record. It takes a kept sandbox only:

1. Put \`cleanup_mode: keep\` and \`trials: 2\` into an experiment of one task, so that there is another attempt and another sandbox.
2. examhall run experiment.yaml --stage prod --watch
3. examhall sandboxes list --stage prod: give the id of one whose owner is kept. End both afterwards: they cost.

Needs your credentials for ssm:SendCommand, GetCommandInvocation and ec2:DescribeInstances (with --end ec2:TerminateInstances).
Unverified: no account has shown it yet. Exit code 0 only if everything was refused; what could not be tried is no pass.`;

const COLOUR = { refused: 'green', reached: 'red', unknown: 'yellow' } as const;

/** `examhall preflight <sandbox>` */
export function preflightCommand(): Command {
  const command = new Command('preflight')
    .description('Try on a kept sandbox of a stage what a hostile agent would, and record what refused it. Unverified.')
    .argument('<sandbox>', 'id of the sandbox, or of the attempt that left it')
    .option('--record <file>', 'file for the record (default: preflight-<sandbox>.json)')
    .option('--end', 'end the machine afterwards')
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (sandboxId: string, options: PreflightCommandOptions) => {
    process.exitCode = await preflight(sandboxId, options);
  });
}

async function preflight(sandboxId: string, options: PreflightCommandOptions): Promise<number> {
  const { stage } = wantedHost(options, process.env);
  if (stage === undefined) {
    throw commandLineError({
      what: 'a preflight is of a stage in AWS',
      got: 'no stage',
      allowed: '--stage <name> or EXAMHALL_STAGE',
      action: 'name the stage',
    });
  }
  const question = `Try the hostile list on ${plainText(sandboxId)}${options.end === true ? ' and end it' : ''}?`;
  if (!(await isConfirmed({ question, yes: options.yes }))) return EXIT.badInput;
  const { preflightStage } = await import('#cli/cloud/preflight-stage');
  const record = options.record ?? `preflight-${sandboxId.replaceAll(/[^\w.-]/gu, '_')}.json`;
  const done = await preflightStage({ ...options, stage, sandboxId, record, end: options.end === true });
  print(options.json, done, () => textOf(done, record));
  return done.checks.every(({ verdict }) => verdict === 'refused') ? EXIT.done : EXIT.notAllCompleted;
}

function textOf({ checks, unknownFacts }: PreflightRecord, file: string): string {
  const lines = checks.flatMap(({ id, from, tries, verdict, evidence }) => [
    `${paint(COLOUR[verdict], verdict.padEnd(7))}  ${id} (${from}): ${tries}`,
    `         ${plainText(evidence, 300)}`,
  ]);
  const count = (verdict: keyof typeof COLOUR): string =>
    String(checks.filter((check) => check.verdict === verdict).length);
  const missing = unknownFacts.length === 0 ? '' : `; not known: ${unknownFacts.join(', ')}`;
  const counts = `${count('refused')} refused, ${count('reached')} reached, ${count('unknown')} unknown${missing}`;
  return [...lines, counts, `record: ${file}`].join('\n');
}
