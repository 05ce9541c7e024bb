import { Command } from 'commander';
import { doctorChecks } from '#cli/doctor-checks';
import { EXIT } from '#cli/explain-error';
import { paint } from '#cli/style';

const MARK = { ok: 'ok     ', limited: 'limited', missing: 'missing' } as const;
const COLOUR = { ok: 'green', limited: 'yellow', missing: 'red' } as const;

/** `examhall doctor` */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Say what this computer has, what it lacks and the command that enables it. Changes nothing.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  examhall doctor\n  examhall doctor --json')
    .action(async (options: { readonly json?: boolean }) => {
      const checks = await doctorChecks(process.cwd());
      if (options.json === true) process.stdout.write(`${JSON.stringify({ checks })}\n`);
      else {
        for (const { name, state, found, gives, enable } of checks) {
          process.stdout.write(`${paint(COLOUR[state], MARK[state])}  ${name.padEnd(10)} ${found}\n`);
          if (enable !== null) process.stdout.write(`         gives: ${gives}\n         to enable: ${enable}\n`);
        }
      }
      const canRun = checks.every(({ name, state }) => name !== 'node' || state === 'ok');
      process.exitCode = canRun ? EXIT.done : EXIT.notAllCompleted;
    });
}
