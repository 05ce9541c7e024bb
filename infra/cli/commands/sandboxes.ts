import { Command } from 'commander';
import { desktopRoutes, DESKTOP_ACCESS_NEEDS, disarmCommand, shellText } from '#core/desktop-access';
import type { SandboxEntry } from '#contracts/api-sandboxes';
import { commandLineError } from '#cli/remote/command-line-error';
import { withHostOptions, wholeNumber, type HostOptions } from '#cli/remote/host-options';
import { allSandboxes, sandboxNamed } from '#cli/remote/list-sandboxes';
import { openClient, print } from '#cli/remote/open-client';
import { plainText } from '#cli/remote/plain-text';
import { reapText, sandboxTable } from '#cli/remote/sandbox-text';
import { widthOf } from '#cli/remote/text-table';

interface JsonOptions extends HostOptions {
  readonly json?: boolean;
}

/** `examhall sandboxes [list|reap|open]` */
export function sandboxesCommand(): Command {
  return new Command('sandboxes')
    .description('Machines that a host has: list them, have orphans ended, reach the screen of one.')
    .addHelpText(
      'after',
      '\nExamples:\n  examhall sandboxes --stage prod\n  examhall sandboxes reap --dry-run --stage prod\n  examhall sandboxes open i-0123456789abcdef0 --stage prod',
    )
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(reapCommand())
    .addCommand(openCommand());
}

const LIST_EXAMPLES = `
Examples:
  examhall sandboxes --stage prod
  examhall sandboxes list --host http://127.0.0.1:7878 --json

Owner: "ours" is used by an open attempt, "kept" was left on purpose (cleanup mode stop or keep) and stays, "detached" was left
running and is no longer ours (cleanup mode detach), "orphan" is wanted by nobody and is ended by the reaper at its second sighting.`;

function listCommand(): Command {
  const command = new Command('list')
    .description('List what the providers have of this host, with attempt, owner and expiry of each.')
    .option('--orphans', 'only those that nobody wants')
    .option('--json', 'print one JSON object')
    .addHelpText('after', LIST_EXAMPLES);
  return withHostOptions(command).action(async (options: JsonOptions & { readonly orphans?: boolean }) => {
    const all = await allSandboxes(await openClient(options));
    const sandboxes = options.orphans === true ? all.filter(({ owner }) => owner === 'orphan') : all;
    print(options.json, { sandboxes }, () => sandboxTable(sandboxes, widthOf()));
  });
}

const REAP_EXAMPLES = `
Examples:
  examhall sandboxes reap --dry-run --stage prod
  examhall sandboxes reap --stage prod

The reaper looks every five minutes by itself. It never touches a machine without the stage's tags; one without an owner is
noted at the first sighting and ended at a second one five minutes later; one whose time is over is ended at once.`;

function reapCommand(): Command {
  const command = new Command('reap')
    .description('Tell the reaper to look now, and print what it notes and ends; --dry-run only prints.')
    .option('--dry-run', 'change nothing')
    .option('--json', 'print one JSON object')
    .addHelpText('after', REAP_EXAMPLES);
  return withHostOptions(command).action(async (options: JsonOptions & { readonly dryRun?: boolean }) => {
    const client = await openClient(options);
    const answer = await client.call('reapSandboxes', { body: { dryRun: options.dryRun === true } });
    const first = answer.dryRun ? 'dry run: the reaper would do this' : 'the reaper looks now, and does this';
    print(options.json, answer, () => `${first}\n${reapText(answer.items, answer)}`);
  });
}

interface OpenOptions extends JsonOptions {
  readonly os?: string;
  readonly localPort: number;
}

const OPEN_EXAMPLES = `
Examples:
  examhall sandboxes open i-0123456789abcdef0 --stage prod
  examhall sandboxes open <attempt id> --stage prod --local-port 15000 --json

Prints the command and runs nothing. No account has shown it yet: unverified.`;

function openCommand(): Command {
  const command = new Command('open')
    .description('Print the command that brings the screen of a sandbox in EC2 to this computer. Runs nothing.')
    .argument('<id>', 'id of the sandbox, or of the attempt it belongs to')
    .option('--os <name>', 'linux or windows, for a sandbox whose attempt is not known')
    .option('--local-port <port>', 'port of this computer', wholeNumber(1024, 65_000), 15_000)
    .option('--json', 'print one JSON object')
    .addHelpText('after', OPEN_EXAMPLES);
  return withHostOptions(command).action(async (id: string, options: OpenOptions) => {
    const client = await openClient(options);
    const sandbox = await sandboxNamed(client, id);
    const os = osOf(sandbox, options.os);
    const { regionOf } = await import('#cli/remote/region-of');
    const region = await regionOf(client.baseUrl, options);
    const { sandboxId } = sandbox;
    const sought = { sandboxId, os, region, profile: options.profile, localPort: options.localPort };
    const routes = desktopRoutes(sought);
    const disarm = disarmCommand(sought);
    print(options.json, { sandboxId, os, region, routes, disarm, needs: DESKTOP_ACCESS_NEEDS, verified: false }, () =>
      [
        ...routes.flatMap(({ what, argv, then }) => [`# ${what}`, shellText(argv), `#   then: ${then}`]),
        '# it switches itself off when its time ends; for one that is kept, before that:',
        shellText(disarm),
        ...DESKTOP_ACCESS_NEEDS.map((need) => `# needs ${need}`),
        '# unverified: no account has shown this yet',
      ].join('\n'),
    );
  });
}

function osOf(sandbox: SandboxEntry, told: string | undefined): 'linux' | 'windows' {
  const { provider, sandboxId } = sandbox;
  if (provider !== 'aws') {
    throw commandLineError({
      what: `the screen of a ${plainText(provider)} sandbox cannot be forwarded`,
      got: plainText(sandboxId),
      allowed: 'a sandbox in EC2 (provider aws)',
      action: 'a sandbox on this computer is reached at the address in its record; nothing is forwarded for it',
    });
  }
  const os = told ?? sandbox.os;
  if (os === 'linux' || os === 'windows') return os;
  throw commandLineError({
    what: 'it is not known which system the sandbox has',
    got: told === undefined ? `${plainText(sandboxId)}, whose attempt is not known` : JSON.stringify(told),
    allowed: '--os linux or --os windows',
    action: 'give --os',
  });
}
