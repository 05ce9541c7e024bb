import { Command } from 'commander';
import type { Verified } from '#cli/cloud/verify-sandbox';
import { doctorChecks } from '#cli/doctor-checks';
import { EXIT } from '#cli/explain-error';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { plainText } from '#cli/remote/plain-text';
import { paint } from '#cli/style';

interface DoctorOptions extends HostOptions {
  readonly sandbox?: string;
  readonly json?: boolean;
}

const MARK = { ok: 'ok     ', limited: 'limited', missing: 'missing' } as const;
const COLOUR = { ok: 'green', limited: 'yellow', missing: 'red' } as const;

const EXAMPLES = `
Examples:
  examhall doctor
  examhall doctor --json
  examhall doctor --sandbox i-0123456789abcdef0 --stage prod

On a sandbox in EC2 the image's own verify script runs, through Systems Manager and with your credentials (ssm:SendCommand on the
instance, GetCommandInvocation): unverified, no account has shown it yet. It changes nothing there.`;

/** `examhall doctor` */
export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description('Say what this computer, or a live sandbox, has and lacks, and what enables it. Changes nothing.')
    .option('--sandbox <id>', 'look at this sandbox of a stage instead')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (options: DoctorOptions) => {
    process.exitCode = options.sandbox === undefined ? await lookHere(options) : await lookAt(options.sandbox, options);
  });
}

async function lookHere({ json }: DoctorOptions): Promise<number> {
  const checks = await doctorChecks(process.cwd());
  if (json === true) process.stdout.write(`${JSON.stringify({ checks })}\n`);
  else {
    for (const { name, state, found, gives, enable } of checks) {
      process.stdout.write(`${paint(COLOUR[state], MARK[state])}  ${name.padEnd(10)} ${found}\n`);
      if (enable !== null) process.stdout.write(`         gives: ${gives}\n         to enable: ${enable}\n`);
    }
  }
  const canRun = checks.every(({ name, state }) => name !== 'node' || state === 'ok');
  return canRun ? EXIT.done : EXIT.notAllCompleted;
}

async function lookAt(id: string, options: DoctorOptions): Promise<number> {
  const { verifyLiveSandbox } = await import('#cli/cloud/verify-sandbox');
  const verified = await verifyLiveSandbox(id, options);
  if (options.json === true) process.stdout.write(`${JSON.stringify(verified)}\n`);
  else process.stdout.write(`${verified.checks.map(lineOf).join('\n')}\n`);
  return verified.ok ? EXIT.done : EXIT.notAllCompleted;
}

function lineOf({ name, ok, seen }: Verified['checks'][number]): string {
  const state = ok === null ? 'limited' : ok ? 'ok' : 'missing';
  const mark = ok === null ? 'unseen ' : ok ? 'ok     ' : 'FAIL   ';
  return `${paint(COLOUR[state], mark)}  ${plainText(name).padEnd(24)} ${plainText(seen, 300)}`;
}
