import { Command, CommanderError } from 'commander';
import { COMMANDS } from './command-list.ts';
import { EXIT, explainError } from './explain-error.ts';
import { StoppedError } from './stop-signals.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The `examhall` command. Exit codes: 0 done and all units completed, 1 ran but not all did, 2 bad input, 3 a fault of ours, 130 or 143 stopped by a signal. */
const program = new Command('examhall')
  .description("Runs Agents' Last Exam: plans a sweep, runs every unit in its sandbox, grades it, keeps the record.")
  .version(packageJson.version)
  .showHelpAfterError('(add --help for usage and examples)')
  .exitOverride();

// Whoever reads the output has seen enough, as `head` has.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

for (const command of COMMANDS) {
  program.addCommand(command().copyInheritedSettings(program));
}

try {
  await program.parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else if (error instanceof StoppedError) {
    process.stderr.write(`${error.message}\n`);
    // What was under way must not go on.
    process.exit(error.exitCode);
  } else {
    process.exitCode = explainError(error);
    // Executions may still wait for something; nobody is left to hear of them.
    if (process.exitCode === EXIT.ourFault) process.exit();
  }
}
