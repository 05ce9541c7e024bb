import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { EXIT } from '#cli/explain-error';
import { AGENTS_DIR_HELP, collectFolder, foldersOf, TASKS_DIR_HELP, type FolderOptions } from '#cli/folder-options';
import { openUnlessStopped, untilStopped } from '#cli/stop-signals';
import { ConfigError, problemAt } from '#core/located';

interface ServeCommandOptions extends FolderOptions {
  readonly port: number;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall serve
  examhall serve .logs/served --token-file ~/.examhall-token

Other programs ask it so: curl -H "Authorization: Bearer $(cat ~/.examhall-token)" http://127.0.0.1:7878/sweeps
Only this computer can reach it, and only with the token. Sweeps that are started through it run here, each below its own
folder. Ctrl-C stops taking requests and releases every sandbox; a sweep that is cut off so is not gone on with.`;

/** `examhall serve` */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve the API on this computer: the same routes and code as in the cloud, behind a random token.')
    .argument('[folder]', 'folder for the runs and the state', '.logs/served')
    .option('--port <port>', 'port of 127.0.0.1; 0 for a free one', portOf, 7878)
    .option('--token-file <file>', 'write the token there (mode 0600) instead of printing it')
    .option('--tasks-dir <folder>', TASKS_DIR_HELP, collectFolder, [])
    .option('--agents-dir <folder>', AGENTS_DIR_HELP, collectFolder, [])
    .option('--json', 'print one JSON object once it listens; progress goes to standard error')
    .addHelpText('after', EXAMPLES)
    .action(async (folder: string, options: ServeCommandOptions) => {
      process.exitCode = await serve(folder, options);
    });
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/u.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('a port is a whole number from 0 to 65535');
}

async function serve(folder: string, options: ServeCommandOptions): Promise<number> {
  if (options.tokenFile !== undefined) refuseFolder(options.tokenFile);
  const { openServing } = await import('#local/serve');
  const { catalogueFolders } = await import('#local/catalogue');
  const { storageFaultOf } = await import('#local/storage-watch');
  const folders = await catalogueFolders(foldersOf(options));
  const token = randomBytes(32).toString('base64url');
  const principalArn = `arn:aws:iam::000000000000:user/${userName()}`;
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const { session, baseUrl, catalogue } = await openUnlessStopped(
    async () =>
      await openServing({
        folder,
        folders,
        tokens: [{ token, principalArn }],
        principalArn,
        port: options.port,
        tell,
      }).catch(explainPort(options.port)),
  );
  try {
    if (options.tokenFile !== undefined) writeToken(options.tokenFile, token);
    announce(options, { baseUrl, token, principalArn, folder: path.resolve(folder), ...catalogue });
    await untilStopped(session, session.failed, tell);
    return EXIT.done;
  } catch (error) {
    throw storageFaultOf(error, path.resolve(folder)) ?? error;
  } finally {
    try {
      await session.close();
    } finally {
      if (options.tokenFile !== undefined) removeToken(options.tokenFile, token);
    }
  }
}

interface Announcement {
  readonly baseUrl: string;
  readonly token: string;
  readonly principalArn: string;
  readonly folder: string;
  readonly tasks: number;
  readonly agents: number;
  readonly failures: readonly string[];
}

/** The only place that shows the token; a token in a file is not shown. */
function announce({ tokenFile, json }: ServeCommandOptions, { token, ...said }: Announcement): void {
  if (json === true) {
    const held = tokenFile === undefined ? { token } : { tokenFile: path.resolve(tokenFile) };
    process.stdout.write(`${JSON.stringify({ ...said, ...held })}\n`);
    return;
  }
  const lines = [
    `serving ${said.folder}: ${String(said.tasks)} tasks, ${String(said.agents)} agents`,
    `url:   ${said.baseUrl}`,
    tokenFile === undefined ? `token: ${token}` : `token: in ${path.resolve(tokenFile)}`,
    `you are ${said.principalArn}; Ctrl-C stops`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Replaced whole, so that nobody reads half a token, and an old file's rights do not hold for the new one. */
function writeToken(file: string, token: string): void {
  const draft = `${path.resolve(file)}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    const got = error instanceof Error ? error.message : String(error);
    throw mistake({ what: 'the token cannot be written', got, allowed: 'a file that this account may write' });
  }
}

/** Told before anything is started. @throws ConfigError */
function refuseFolder(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  throw mistake({ what: 'the token cannot be written', got: `${file} is a folder`, allowed: 'the path of a file' });
}

/** Only while it holds our token: another server may have put its own there. What cannot be removed opens nothing any more. */
function removeToken(file: string, token: string): void {
  try {
    if (readFileSync(file, 'utf8').trim() === token) rmSync(file);
  } catch {
    // It is gone, or not ours to read: not written by this process, or replaced since.
  }
}

/** Who calls, as the cloud would name them. */
function userName(): string {
  try {
    return os.userInfo().username.replace(/[^\w+=,.@-]+/gu, '-');
  } catch {
    return `uid-${String(process.getuid?.() ?? 'unknown')}`;
  }
}

function explainPort(port: number) {
  return (error: unknown): never => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    const what = code === 'EACCES' ? 'this account may not listen on the port' : 'another program listens on the port';
    throw mistake({ what, got: String(port), allowed: 'a free port from 1024 to 65535, or 0 to have one chosen' });
  };
}

function mistake(text: { readonly what: string; readonly got: string; readonly allowed: string }): ConfigError {
  const at = { file: 'command line', line: 1, column: 1 };
  return new ConfigError([problemAt(at, { ...text, action: 'give another one' })]);
}
