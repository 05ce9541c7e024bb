import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';

interface SetupOptions {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall setup desktop --dry-run   says what would be installed
  examhall setup desktop             as root: packages too, and desktops that are walled in
  examhall setup desktop --json      one JSON object at the end, progress on standard error

Root installs into /opt/examhall/desktop, everybody else into ~/.local/share/examhall/desktop. Safe to run again: what is
there is left alone. Exit code 0 only when a desktop really started.`;

/** `examhall setup` */
export function setupCommand(): Command {
  const desktop = new Command('desktop')
    .description('Install what sandboxes with a screen need (Debian, Ubuntu) and start one to see that they work.')
    .option('--dry-run', 'say what would be done, and do nothing')
    .option('--json', 'print one JSON object at the end; progress goes to standard error')
    .addHelpText('after', EXAMPLES)
    .action(async (options: SetupOptions) => {
      process.exitCode = await setUp(options);
    });
  return new Command('setup')
    .description('Install what a kind of sandbox needs.')
    .addHelpText('after', '\nExamples:\n  examhall setup desktop --dry-run\n  examhall setup desktop')
    .addCommand(desktop);
}

async function setUp({ dryRun: isDry = false, json: isJson = false }: SetupOptions): Promise<number> {
  const { setUpDesktop } = await import('#local/desktop/set-up');
  const { tryDesktop } = await import('#local/desktop/try-desktop');
  const tell = (line: string): void => void (isJson ? process.stderr : process.stdout).write(`${line}\n`);
  try {
    const report = await setUpDesktop({ isDry, tell, check: tryDesktop });
    for (const note of report.notes) tell(`note: ${note}`);
    if (isJson) process.stdout.write(`${JSON.stringify({ ok: true, ...report })}\n`);
    else if (!isDry) tell('ready: environment files may say provider: desktop');
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'SetUpError') throw error;
    if (isJson) process.stdout.write(`${JSON.stringify({ ok: false, error: error.message })}\n`);
    else process.stderr.write(`error: ${error.message}\n`);
    return EXIT.notAllCompleted;
  }
}
