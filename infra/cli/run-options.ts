import type { Command } from 'commander';
import { AGENTS_DIR_HELP, collectFolder, TASKS_DIR_HELP, type FolderOptions } from '#cli/folder-options';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';

/** Of `examhall run`, wherever the experiment runs. */
export interface RunOptions extends FolderOptions, HostOptions {
  readonly dryRun?: boolean;
  readonly agent: readonly string[];
  readonly task: readonly string[];
  readonly disableResume?: boolean;
  readonly watch?: boolean;
  readonly costCenter?: string;
  readonly idempotencyKey?: string;
  readonly here?: boolean;
  readonly json?: boolean;
}

type RunOption = Exclude<keyof RunOptions, keyof HostOptions>;

interface OptionRow {
  readonly flags: string;
  readonly help: string;
  /** Where it means something; on the other side it is refused. */
  readonly fits: 'anywhere' | 'host' | 'here';
  /** Of one that may be given again. */
  readonly gather?: (value: string, before: readonly string[]) => readonly string[];
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** In the order of the help. */
const RUN_OPTIONS: Readonly<Record<RunOption, OptionRow>> = {
  dryRun: { flags: '--dry-run', help: 'print the planned units and start nothing', fits: 'anywhere' },
  agent: { flags: '--agent <id>', help: 'only this agent; may be given again', fits: 'anywhere', gather: collect },
  task: { flags: '--task <path>', help: 'only this task; may be given again', fits: 'anywhere', gather: collect },
  tasksDir: { flags: '--tasks-dir <folder>', help: TASKS_DIR_HELP, fits: 'here', gather: collectFolder },
  agentsDir: { flags: '--agents-dir <folder>', help: AGENTS_DIR_HELP, fits: 'here', gather: collectFolder },
  disableResume: {
    flags: '--disable-resume',
    help: 'run every unit once, whatever earlier runs finished',
    fits: 'here',
  },
  watch: { flags: '--watch', help: 'on a host: follow the sweep to its end', fits: 'host' },
  costCenter: {
    flags: '--cost-center <name>',
    help: 'on a host: who pays (or EXAMHALL_COST_CENTER; "local" on this computer)',
    fits: 'host',
  },
  idempotencyKey: {
    flags: '--idempotency-key <key>',
    help: 'on a host: the same key with the same experiment is the same sweep for a day',
    fits: 'host',
  },
  here: {
    flags: '--here',
    help: 'on this computer, even if EXAMHALL_HOST or EXAMHALL_STAGE is set',
    fits: 'anywhere',
  },
  json: { flags: '--json', help: 'print one JSON object at the end instead of text', fits: 'anywhere' },
};

/** Adds what `examhall run` knows, of a host too. */
export function withRunOptions(command: Command): Command {
  for (const { flags, help, gather } of Object.values(RUN_OPTIONS)) {
    if (gather === undefined) command.option(flags, help);
    else command.option(flags, help, gather, []);
  }
  return withHostOptions(command);
}

/** Flags of a command line that mean nothing where it runs. */
export function misplacedOptions(options: RunOptions, place: 'host' | 'here'): readonly string[] {
  return Object.entries(RUN_OPTIONS).flatMap(([name, { flags, fits }]) => {
    if (fits === 'anywhere' || fits === place) return [];
    const value = options[name as RunOption];
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined;
    return isGiven ? [flags.replace(/ .*/u, '')] : [];
  });
}
