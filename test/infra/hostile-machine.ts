import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import type { ExecJob, GuestAccount, JobResult, StopReport } from '#contracts/guest';
import { rootScript, type RootMount } from '#guest/namespace-script';
import type { HostileNetwork, PlaceName } from './hostile-network.ts';

/** Where things lie on a machine of ours. */
export const ON_MACHINE = {
  node: '/opt/examhall/node/bin/node',
  runner: '/opt/examhall/runner.mjs',
  jobs: '/var/lib/examhall/jobs',
  key: '/var/lib/examhall/key',
} as const;
const AGENT: GuestAccount = { name: 'user', uid: 1100, gid: 1100, home: '/home/user' };
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc/nftables.conf'];

/** A sandbox as it stands on EC2, without EC2: a private root with a runner of root's and an account for the agent. */
export class HostileMachine {
  readonly #init: ChildProcess;
  readonly #pid: number;

  private constructor(init: ChildProcess, pid: number) {
    this.#init = init;
    this.#pid = pid;
  }

  /** `runner`: path of the bundled guest runner. */
  static async start(network: HostileNetwork, place: PlaceName, runner: string): Promise<HostileMachine> {
    const [program = '', ...args] = network.in(place, [
      ...['unshare', '--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child', '--propagation', 'private'],
      ...['/bin/sh', '-s'],
    ]);
    const init = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const mounts = SYSTEM.filter((source) => existsSync(source)).map((source): RootMount => {
      return { source, target: source, readOnly: true, isFolder: !source.endsWith('.conf') };
    });
    const node: RootMount = {
      source: realpathSync(process.execPath),
      target: ON_MACHINE.node,
      readOnly: true,
      isFolder: false,
    };
    init.stdin.write(rootScript({ mounts: [...mounts, node], account: AGENT, hostname: place, launchScript: '' }));
    await once(init.stdout, 'data');
    const machine = new HostileMachine(init, childOf(init.pid ?? 0));
    machine.root(`set -e; umask 022
mkdir -p ${ON_MACHINE.jobs} /home/user /root /run /var/tmp /var/log; chmod 0700 /var/lib/examhall ${ON_MACHINE.jobs} /root
chown 1100:1100 /home/user; chmod 1777 /var/tmp; echo private-half-of-the-key > ${ON_MACHINE.key}; chmod 0600 ${ON_MACHINE.key}`);
    machine.root(`cat > ${ON_MACHINE.runner}`, readFileSync(runner, 'utf8'));
    return machine;
  }

  /** Runs a shell text as root of the machine. @throws Error with what it said when it fails. */
  root(script: string, input = ''): string {
    return this.#run(['/bin/sh', '-c', script], input);
  }

  /** Runs a job of the agent through the runner, to its end. */
  job(jobId: string, script: string): JobResult {
    const job: ExecJob = {
      version: 1,
      jobId,
      kind: 'exec',
      wallSeconds: 150,
      account: AGENT,
      isolation: { kind: 'none' },
      argv: ['/bin/sh', '-c', script],
      env: {},
      cwd: '/home/user',
      stdin: null,
      outputLimitMiB: 4,
    };
    this.#runner(['start', ON_MACHINE.jobs], JSON.stringify(job));
    return JSON.parse(this.#runner(['wait', ON_MACHINE.jobs, jobId, '--timeout', '160'])) as JobResult;
  }

  stop(jobId: string): StopReport {
    return JSON.parse(this.#runner(['stop', ON_MACHINE.jobs, jobId, '--uid', '1100'])) as StopReport;
  }

  printed(jobId: string): string {
    return this.root(`cat ${ON_MACHINE.jobs}/${jobId}/stdout`);
  }

  async close(): Promise<void> {
    const isOver = once(this.#init, 'close');
    this.#init.stdin?.destroy();
    await isOver;
  }

  #runner(args: readonly string[], input = ''): string {
    return this.#run([ON_MACHINE.node, ON_MACHINE.runner, ...args], input);
  }

  #run(argv: readonly string[], input: string): string {
    const enter = ['--target', String(this.#pid), '--mount', '--pid', '--uts', '--ipc', '--net', '--wd=/', '--'];
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' };
    const { status, stdout, stderr } = spawnSync('nsenter', [...enter, ...argv], {
      ...{ encoding: 'utf8', input, env, timeout: 170_000, maxBuffer: 16 * 1024 * 1024 },
    });
    if (status !== 0)
      throw new Error(`${argv.join(' ').slice(0, 200)} ended with ${String(status)}: ${stderr}${stdout}`);
    return stdout;
  }
}

/** The process that is init inside; what holds it is the launcher. */
function childOf(pid: number): number {
  const children = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8').trim();
  if (!/^\d+$/u.test(children)) throw new Error(`the machine has no init but ${JSON.stringify(children)}`);
  return Number(children);
}
