import { readFile } from 'node:fs/promises';
import type { CuaClient } from '#adapters/cua-client';
import { isBlackPicture } from '#adapters/png-pixels';
import { quotePosix } from '#core/cua/posix-shell';
import { ExamHallError } from '#core/errors';
import { imageFamily } from '#core/image-family';
import type { Sandbox, SandboxSpec } from '#ports/sandbox-provider';

const STEP_SECONDS = 60;
const OLDEST_NODE = 20;
/** A server too old to list its commands is tried all the same. */
const NEEDED_COMMANDS = [
  ...['run_command', 'read_bytes', 'write_bytes', 'get_file_size', 'file_exists', 'directory_exists', 'create_dir'],
  ...['list_dir', 'screenshot', 'left_click', 'press_key'],
];

/** Files that go onto the machine. */
export interface StaticFiles {
  readonly guestRunner: string;
  readonly bridge: string;
}

/** What the machine says of itself. */
interface Survey {
  readonly home: string;
  readonly node: string;
  readonly display: string;
  readonly xAuthority: string;
}

/** Refuses a machine that cannot be used as asked. @throws SandboxRefusedError, ProvisionFailedError. */
export async function refuseUnusable(
  client: CuaClient,
  spec: SandboxSpec,
): Promise<{ readonly serverVersion: string }> {
  const { osType } = await client.status();
  if (osType !== 'linux') throw refused(spec, `the machine at ${client.url} runs ${osType} (allowed: linux)`);
  const commands = await client.commands();
  const missing = commands === null ? [] : NEEDED_COMMANDS.filter((name) => !commands.has(name));
  if (missing.length > 0) throw refused(spec, `its server lacks the commands ${missing.join(', ')}`);
  const { png, width, height } = await client.screenshot();
  if (await isBlackPicture(png)) {
    const what = `the screen of the machine at ${client.url} is black; log in there, and unlock it or switch it on`;
    throw new ExamHallError('ProvisionFailedError', what, { endpoint: client.url });
  }
  if (spec.resolution !== null && spec.resolution !== `${width}x${height}`)
    throw refused(spec, `its screen is ${width}x${height} and resolution ${spec.resolution} is asked for`);
  return { serverVersion: (await client.version()).package };
}

function refused(spec: SandboxSpec, what: string): ExamHallError {
  const message = `snapshot ${JSON.stringify(spec.snapshot)}: provider static: ${what}. Change the machine or the request`;
  return new ExamHallError('SandboxRefusedError', message, { provider: spec.provider, snapshot: spec.snapshot });
}

/** Makes our folder on the machine with everything jobs need. @throws SandboxRefusedError, ProvisionFailedError. */
export async function furnish(
  client: CuaClient,
  spec: SandboxSpec,
  plan: {
    readonly sandboxId: string;
    readonly files: StaticFiles;
    readonly onFolder: (folder: string) => Promise<void>;
  },
): Promise<Pick<Sandbox, 'paths' | 'desktop' | 'guestIsolation'> & { readonly folder: string }> {
  const survey = await surveyOf(client, spec);
  const folder = `${survey.home}/.examhall/${plan.sandboxId}`;
  await plan.onFolder(folder);
  const own = ['data', 'work', 'home', 'jobs'].map((name) => quotePosix(`${folder}/${name}`)).join(' ');
  await run(client, `mkdir -p ${own} && chmod 700 ${quotePosix(folder)}`);
  await client.upload(`${folder}/runner.mjs`, await readFile(plan.files.guestRunner));
  await client.upload(`${folder}/cua-desktop.mjs`, await readFile(plan.files.bridge));
  const serverUrl = `http://127.0.0.1:${portOf(client.url)}`;
  const env = { DISPLAY: survey.display, XAUTHORITY: survey.xAuthority };
  return {
    folder,
    paths: { dataRoot: `${folder}/data`, workRoot: `${folder}/work`, node: survey.node, runnerNode: survey.node },
    guestIsolation: { kind: 'none', home: `${folder}/home` },
    desktop: {
      serverUrl,
      endpoint: { url: client.url, socketPath: null },
      env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')),
      bridge: `${folder}/cua-desktop.mjs`,
    },
  };
}

/** A server that is reached from elsewhere listens on the same port inside. */
function portOf(url: string): string {
  const { port, protocol } = new URL(url);
  return port === '' ? ({ 'https:': '443' }[protocol] ?? '80') : port;
}

async function surveyOf(client: CuaClient, spec: SandboxSpec): Promise<Survey> {
  const known = imageFamily(spec.image)?.node;
  const candidates = [...(known === undefined ? [] : [quotePosix(known)]), '"$(command -v node)"'].join(' ');
  const script = [
    `for n in ${candidates} /usr/local/bin/node /usr/bin/node; do`,
    `v=$("$n" -p 'process.versions.node.split(".")[0]' 2>/dev/null) && [ "$v" -ge ${OLDEST_NODE} ] && break; n=; done`,
    'x=${XAUTHORITY:-$HOME/.Xauthority}; [ -r "$x" ] || x=',
    'printf "%s\\n" "$HOME" "$n" "$DISPLAY" "$x"',
    'if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then echo root; else echo user; fi',
  ].join('\n');
  const [home = '', node = '', display = '', xAuthority = '', rights] = (await run(client, script)).split('\n');
  if (!home.startsWith('/'))
    throw refused(spec, `the server's account has no home folder (HOME is ${JSON.stringify(home)})`);
  if (node === '') throw refused(spec, `the machine has no Node ${OLDEST_NODE} or later on PATH; install it there`);
  if (rights === 'root' && spec.privilege === 'restricted')
    throw refused(
      spec,
      `privilege restricted is asked for, and the server's account has root's rights; run the server as another account, or ask for privilege: upstream`,
    );
  return { home, node, display, xAuthority };
}

/** Removes our folder, and nothing else of the machine. */
export async function unfurnish(client: CuaClient, folder: string): Promise<void> {
  if (!/^\/.*\/\.examhall\/sbx-[0-9a-f]{20}$/.test(folder)) throw new TypeError(`${folder} is no folder of ours`);
  // The folder around it goes with the last of us.
  await run(
    client,
    `rm -rf -- ${quotePosix(folder)}; rmdir ${quotePosix(folder.replace(/\/[^/]*$/, ''))} 2>/dev/null; true`,
  );
  if (await client.directoryExists(folder))
    throw new ExamHallError('ReleaseFailedError', `${folder} is still on the machine at ${client.url}`);
}

/** Runs the operator's clean-up command. @throws ReleaseFailedError when it fails. */
export async function cleanUp(client: CuaClient, knobs: Readonly<Record<string, unknown>>): Promise<void> {
  const script = knobs['cleanup_script'];
  if (knobs['cleanup_on_release'] !== true || typeof script !== 'string' || script.trim() === '') return;
  const done = await client.exec(script, { timeoutSeconds: 300 });
  if (done.exitCode === 0) return;
  const how = done.timedOut ? 'was not done within 300 s' : `ended with exit code ${done.exitCode}`;
  throw new ExamHallError(
    'ReleaseFailedError',
    `cleanup_script on ${client.url} ${how}: ${done.stderr.trim().slice(-500)}`,
    { endpoint: client.url },
  );
}

async function run(client: CuaClient, command: string): Promise<string> {
  const done = await client.exec(command, { timeoutSeconds: STEP_SECONDS });
  if (done.exitCode === 0) return done.stdout;
  const how = done.timedOut ? `took more than ${STEP_SECONDS} s` : `ended with exit code ${done.exitCode}`;
  throw new ExamHallError(
    'ProvisionFailedError',
    `a command on the machine at ${client.url} ${how}: ${done.stderr.trim().slice(-500)}`,
    { endpoint: client.url },
  );
}
