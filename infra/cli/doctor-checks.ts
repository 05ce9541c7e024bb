import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import os from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'limited' | 'missing';
  readonly found: string;
  /** What it gives when it is there. */
  readonly gives: string;
  /** Command or step that enables it; null when nothing is lacking. */
  readonly enable: string | null;
}

async function output(command: string, args: readonly string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await run(command, [...args], { timeout: 10_000 });
    return `${stdout}${stderr}`.trim().split('\n')[0] ?? '';
  } catch {
    return null;
  }
}

/** Looks at what this computer has and says, for all that is lacking, what enables it. Changes nothing. */
export async function doctorChecks(folder: string): Promise<readonly Check[]> {
  return await Promise.all([
    nodeCheck(),
    isolationCheck(),
    diskCheck(folder),
    desktopCheck(),
    browserCheck(),
    javaCheck(),
    gitCheck(),
  ]);
}

function nodeCheck(): Promise<Check> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isGood = major > 20 || (major === 20 && minor >= 19);
  return Promise.resolve({
    name: 'node',
    state: isGood ? 'ok' : 'missing',
    found: process.versions.node,
    gives: 'the pipeline itself',
    enable: isGood ? null : 'install Node 20.19 or later',
  });
}

async function isolationCheck(): Promise<Check> {
  const gives = 'agents in their own user, mount and process namespaces; without it records say isolation: none';
  const isRoot = process.getuid?.() === 0;
  const base = { name: 'isolation', gives } as const;
  if (os.platform() !== 'linux')
    return { ...base, state: 'limited', found: os.platform(), enable: 'run on Linux as root' };
  if (!isRoot)
    return { ...base, state: 'limited', found: 'not root', enable: 'run as root, for example: sudo npm run demo' };
  const probe = await output('unshare', ['-m', '-p', '-f', '--mount-proc', 'true']);
  if (probe !== null) return { ...base, state: 'ok', found: 'root with namespaces', enable: null };
  return {
    ...base,
    state: 'limited',
    found: 'root, but unshare fails',
    enable: 'allow CAP_SYS_ADMIN, and install util-linux',
  };
}

async function diskCheck(folder: string): Promise<Check> {
  const { bavail, bsize } = await statfs(folder);
  const freeMiB = Math.floor((bavail * bsize) / 1024 / 1024);
  const isGood = freeMiB >= 1024;
  return {
    name: 'disk',
    state: isGood ? 'ok' : 'limited',
    found: `${String(freeMiB)} MiB free at ${folder}`,
    gives: 'room for records and artefacts',
    enable: isGood ? null : 'free at least 1024 MiB, or name another output.root',
  };
}

async function desktopCheck(): Promise<Check> {
  const { findDesktop, SETUP_COMMAND } = await import('#local/desktop/installation');
  const found = findDesktop();
  const base = { name: 'desktop', gives: 'sandboxes with a screen (provider desktop), and test tier desktop' } as const;
  if (!found.isThere) return { ...base, state: 'missing', found: found.reason, enable: SETUP_COMMAND };
  const { server, pythonVersion } = found.installation;
  const seen = `cua-computer-server ${server} on Python ${pythonVersion}`;
  return { ...base, state: 'ok', found: seen, enable: null };
}

async function browserCheck(): Promise<Check> {
  const { findProgram } = await import('#local/desktop/installation');
  const { BROWSER_PACKAGE, BROWSERS } = await import('#local/desktop/programs');
  const found = findProgram(BROWSERS);
  return {
    name: 'browser',
    state: found === null ? 'missing' : 'ok',
    found: found ?? `none of ${BROWSERS.join(', ')}`,
    gives: 'tasks that are done in a browser, and the tests that open the report in one',
    enable: found === null ? `apt-get install ${BROWSER_PACKAGE} (Ubuntu: the .deb of Google Chrome)` : null,
  };
}

async function javaCheck(): Promise<Check> {
  const found = await output('java', ['-version']);
  const major = Number(/version "(\d+)/u.exec(found ?? '')?.[1] ?? 0);
  const isGood = major >= 17;
  return {
    name: 'java',
    state: isGood ? 'ok' : 'missing',
    found: found ?? 'not found',
    gives: 'test tier dynamodb (the unit store on DynamoDB Local)',
    enable: isGood ? null : 'apt-get install openjdk-17-jre-headless',
  };
}

async function gitCheck(): Promise<Check> {
  const found = await output('git', ['--version']);
  return {
    name: 'git',
    state: found === null ? 'missing' : 'ok',
    found: found ?? 'not found',
    gives: 'the architecture tests, which ask it for the files of the repository',
    enable: found === null ? 'apt-get install git' : null,
  };
}
