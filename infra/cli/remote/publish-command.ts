import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { AGENTS_DIR_HELP, collectFolder, TASKS_DIR_HELP } from '#cli/folder-options';
import { commandLineError } from './command-line-error.ts';
import { withHostOptions, type HostOptions } from './host-options.ts';
import { openClient } from './open-client.ts';
import { StatusLine } from './status-line.ts';
import type { Published, PublishOne } from './publish-folders.ts';

type Kind = 'task' | 'agent';

interface PublishOptions extends HostOptions {
  readonly tasksDir?: readonly string[];
  readonly agentsDir?: readonly string[];
  readonly all?: boolean;
  readonly json?: boolean;
}

const EXAMPLES: Readonly<Record<Kind, string>> = {
  task: `
Examples:
  examhall tasks publish business_finance/form_1040 --stage prod
  examhall tasks publish ../our-tasks/chemistry/titration --stage prod
  examhall tasks publish --all --tasks-dir ../our-tasks --host http://127.0.0.1:7878`,
  agent: `
Examples:
  examhall agents publish oracle nop --stage prod
  examhall agents publish ../our-agents/ours --host http://127.0.0.1:7878`,
};

/** `examhall tasks publish` and `examhall agents publish` */
export function publishCommand(kind: Kind): Command {
  const example = kind === 'task' ? '<domain>/<task>' : '<agent>';
  const command = new Command('publish')
    .description(
      `Compile ${kind}s here and bring them to a host. What it has already is not sent again; a broken publish goes on where it was.`,
    )
    .argument(`[${kind}...]`, `${example} of this repository (or of a folder given), or the path of a ${kind}'s folder`)
    .option('--all', `every ${kind} that \`examhall list\` prints`)
    .option('--json', 'print one JSON object at the end; progress goes to standard error')
    .addHelpText('after', `${EXAMPLES[kind]}\n\nExit code 0 only if all were published; 1 if some were not.`);
  if (kind === 'task') command.option('--tasks-dir <folder>', TASKS_DIR_HELP, collectFolder, []);
  else command.option('--agents-dir <folder>', AGENTS_DIR_HELP, collectFolder, []);
  return withHostOptions(command).action(async (wanted: readonly string[], options: PublishOptions) => {
    process.exitCode = await publish(kind, wanted, options);
  });
}

async function publish(kind: Kind, wanted: readonly string[], options: PublishOptions): Promise<number> {
  if ((wanted.length === 0) !== (options.all === true)) {
    throw commandLineError({
      what: wanted.length === 0 ? `no ${kind} is named` : `${kind}s are named beside --all`,
      got: wanted.length === 0 ? 'nothing' : wanted.join(', '),
      allowed: `ids or folders of ${kind}s, or --all`,
      action: 'give one of the two',
    });
  }
  const { foldersToPublish, publishFolders } = await import('./publish-folders.ts');
  const others = { tasks: options.tasksDir ?? [], agents: options.agentsDir ?? [] };
  const folders = await foldersToPublish(kind, options.all === true ? null : wanted, others);
  const client = await openClient(options);
  const line = new StatusLine(process.stderr);
  const tell = (text: string): void => {
    line.show(text);
  };
  const results = await publishFolders({ kind, folders, client, tell }).finally(() => {
    line.clear();
  });
  const failed = results.filter(({ error }) => error !== null);
  if (options.json === true) process.stdout.write(`${JSON.stringify({ published: results.map(asJson) })}\n`);
  else for (const result of results) process.stdout.write(`${textOf(result)}\n`);
  return failed.length === 0 ? EXIT.done : EXIT.notAllCompleted;
}

function asJson({ folder, published, error }: PublishOne): object {
  return { folder, ...published, error: error === null ? null : error.message };
}

function textOf({ folder, published, error }: PublishOne): string {
  if (published === null) return `not published: ${folder}: ${error?.message ?? 'no reason given'}`;
  return `${published.id}  ${published.revision.slice(0, 19)}  ${sentText(published)}`;
}

function sentText({ uploadedFiles, uploadedBytes }: Published): string {
  if (uploadedFiles === 0) return 'nothing to upload';
  return `${String(uploadedFiles)} files uploaded, ${(uploadedBytes / 1024 / 1024).toFixed(1)} MiB`;
}
