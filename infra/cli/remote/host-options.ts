import { InvalidArgumentError, Option, type Command } from 'commander';

/** Which host a command talks to, and as whom. */
export interface HostOptions {
  readonly host?: string;
  readonly stage?: string;
  readonly profile?: string;
  readonly region?: string;
  readonly tokenFile?: string;
  readonly timeout: number;
}

const DEFAULT_TIMEOUT_SECONDS = 30;

/** Adds the options that every command has which talks to a host. */
export function withHostOptions(command: Command): Command {
  return command
    .option('--host <url>', 'address of the API: of `examhall serve`, or of a stage (or EXAMHALL_HOST)')
    .option('--stage <name>', 'stage in AWS, whose address is looked up (or EXAMHALL_STAGE)')
    .option('--profile <name>', 'AWS profile (or AWS_PROFILE)')
    .option('--region <name>', 'AWS region (or AWS_REGION, AWS_DEFAULT_REGION, the profile)')
    .option('--token-file <file>', 'file with the token of `examhall serve` (or EXAMHALL_TOKEN)')
    .addOption(
      new Option('--timeout <seconds>', 'give up a call without an answer after so long')
        .argParser(wholeNumber(1, 600))
        .default(DEFAULT_TIMEOUT_SECONDS),
    );
}

/** Parser of a whole number within bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/u.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Allowed: a whole number from ${String(least)} to ${String(most)}.`);
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** True when a command line or the environment names a host. */
export function namesHost({ host, stage }: Partial<HostOptions>, env: Environment): boolean {
  return [host, stage, env['EXAMHALL_HOST'], env['EXAMHALL_STAGE']].some((value) => (value ?? '') !== '');
}

/** Options of the command line before those of the environment, so that one `--stage` outweighs an EXAMHALL_HOST. */
export function wantedHost(
  options: Partial<HostOptions>,
  env: Environment,
): { readonly host?: string; readonly stage?: string } {
  const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);
  const pick = (host: string | undefined, stage: string | undefined) => ({
    ...(given(host) === undefined ? {} : { host: given(host) ?? '' }),
    ...(given(stage) === undefined ? {} : { stage: given(stage) ?? '' }),
  });
  const told = pick(options.host, options.stage);
  return Object.keys(told).length > 0 ? told : pick(env['EXAMHALL_HOST'], env['EXAMHALL_STAGE']);
}
