import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { tier } from '#test/runner/tier';
import { endAllCli, REPOSITORY, startExamhall } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment } from './experiment-files.ts';
import { runOutput, unitOf, type RunOutput } from './json-output.ts';
import { later } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const run = promisify(execFile);
const TASK = 'life_sciences/plate_reader_qc';
/** A name that no other process on this computer has. */
const AGENT = `probe${randomBytes(4).toString('hex')}`;

/** What is searched for: never written whole into a command or a script, which would find itself. */
const MARK = ['examhall', 'canary', ''].join('-');
const canary = (): string => `${MARK}${randomBytes(16).toString('hex')}`;
const PATTERN = String.raw`examhall-canary-[0-9a-f]\{32\}`;

/** Searches disk, environments and arguments for canaries; lists the distinct ones, without their mark. */
const SCAN = `
export LC_ALL=C
find / -xdev -mindepth 1 -maxdepth 1 ! -name proc ! -name sys -print0 2>/dev/null |
  xargs -0 grep -rahoe '${PATTERN}' -D skip 2>/dev/null | sort -u
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/mountinfo 2>/dev/null | tr '\\0' '\\n' | grep -aoe '${PATTERN}' | sort -u
`;

const PROBE = `import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
const out = process.env.TASK_OUTPUT;
mkdirSync(out, { recursive: true });
writeFileSync(out + '/scanning', String(process.pid));
const { stdout } = spawnSync('/bin/sh', ['-c', ${JSON.stringify(SCAN)}], { encoding: 'utf8', maxBuffer: 1 << 26 });
writeFileSync(out + '/found.txt', stdout.replaceAll(/^.*-/gm, ''));
for (let waited = 0; waited < 2400 && !existsSync(out + '/done'); waited += 1) await sleep(50);
process.exit(0);`;

/** Plants a canary into every file below a folder of a copied task, and one as a file of its own for each variant. */
function plantInto(folder: string, text: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length, folder).toBeGreaterThan(0);
  for (const { parentPath, name } of files) appendFileSync(path.join(parentPath, name), `\n${text}\n`);
  for (const variant of readdirSync(folder)) writeFileSync(path.join(folder, variant, 'canary.txt'), text);
}

/** Runs the scan as root inside the mount and PID namespaces of a process. */
async function scanAsRootInside(pid: number): Promise<string> {
  const args = ['-t', String(pid), '-m', '-p', '-r', '/bin/sh', '-c', `${SCAN}\nid -u; ls /proc | grep -c '^[0-9]'`];
  const { stdout } = await run('nsenter', args, { maxBuffer: 1 << 26, timeout: 200_000 });
  return stdout;
}

/** Host pids of the probe: what runs its launch script under a uid of an agent. */
function probePids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .filter((name) => {
      try {
        const uid = Number(/^Uid:\s+(\d+)/mu.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]);
        return uid > 60_000 && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`/${AGENT}/`);
      } catch {
        return false;
      }
    })
    .map(Number);
}

tier('isolation')('while an agent other than the oracle runs', () => {
  const ground = testGround();
  const planted = { reference: canary(), solution: canary(), wrong: canary(), input: canary() };
  const secrets = [planted.reference, planted.solution, planted.wrong];
  const asRoot = later<string>();
  const finished = later<RunOutput>();

  function plant(): void {
    const folder = path.join(ground.tasks, TASK);
    cpSync(path.join(REPOSITORY, 'tasks', TASK), folder, { recursive: true });
    plantInto(path.join(folder, 'reference'), planted.reference);
    plantInto(path.join(folder, 'wrong'), planted.wrong);
    appendFileSync(path.join(folder, 'solution.ts'), `\nexport const planted = '${planted.solution}';\n`);
    for (const variant of readdirSync(path.join(folder, 'input')))
      writeFileSync(path.join(folder, 'input', variant, 'planted.txt'), planted.input);
  }

  beforeAll(async () => {
    plant();
    writeAgent(ground, AGENT, PROBE);
    const file = writeExperiment(ground, { name: 'canary', agents: [AGENT], tasks: [[TASK, [0]]] });
    const cli = startExamhall(['run', file, ...ground.folderArgs, '--json'], { timeoutSeconds: 280 });
    asRoot.set(await scanWhileRunning(path.join(ground.folder, 'out/canary')));
    finished.set(runOutput(await cli.ended));
  });

  /** Waits for the probe, looks around as root beside it, and lets it go. */
  async function scanWhileRunning(treeRoot: string): Promise<string> {
    const sandboxes = path.join(treeRoot, '.examhall/sandboxes');
    const outputs = (): string[] =>
      existsSync(sandboxes)
        ? readdirSync(sandboxes, { recursive: true, encoding: 'utf8' }).filter((name) =>
            name.endsWith('output/scanning'),
          )
        : [];
    for (let waited = 0; waited < 2000 && outputs().length < 1; waited += 1)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const [pid] = probePids();
    if (pid === undefined) throw new Error('no probe is running');
    const found = await scanAsRootInside(pid);
    for (const name of outputs()) writeFileSync(path.join(sandboxes, path.dirname(name), 'done'), '');
    return found;
  }

  afterAll(async () => {
    await endAllCli();
    ground.remove();
  });

  it('it finds the canary of its own input and no other', () => {
    const { runDir } = unitOf(finished.get(), AGENT, TASK);
    const found = readFileSync(path.join(finished.get().output, runDir ?? '?', 'output/found.txt'), 'utf8');
    expect([...new Set(found.split('\n').filter((line) => line !== ''))]).toEqual([planted.input.slice(MARK.length)]);
  });

  it('root inside its namespaces finds no other either', () => {
    const lines = asRoot.get().trim().split('\n');
    const [uid, processes] = lines.slice(-2);
    expect(uid).toBe('0');
    expect(Number(processes)).toBeGreaterThan(1);
    expect([...new Set(lines.slice(0, -2))]).toEqual([planted.input]);
  });

  it('no record, event or log of the run holds one', () => {
    const { output, units } = finished.get();
    const { runDir, score } = unitOf(finished.get(), AGENT, TASK);
    expect(units).toHaveLength(1);
    expect(score === null || score < 1).toBe(true);
    const filesBelow = (folder: string): string[] =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name));
    const files = [...filesBelow(path.join(output, runDir ?? '?')), ...filesBelow(path.join(output, '.examhall/log'))];
    const names = files.map((file) => path.basename(file));
    expect(names).toEqual(expect.arrayContaining(['record.json', 'events.jsonl', 'trajectory.json']));
    for (const file of [...files, path.join(output, 'report.html')]) {
      const content = readFileSync(file, 'latin1');
      for (const secret of secrets) expect(content.includes(secret), `${secret} in ${file}`).toBe(false);
    }
  });

  it('and there was something to find: references and solution lie in their stores, nothing wrong does', async () => {
    const objects = path.join(ground.folder, 'out/canary/.examhall/store/objects');
    const stored = async (folder: string): Promise<string[]> => {
      const args = ['-rahoe', PATTERN, path.join(objects, folder)];
      const { stdout } = await run('grep', args, { env: { ...process.env, LC_ALL: 'C' } });
      return [...new Set(stdout.trim().split('\n'))].sort();
    };
    expect(await stored('references')).toEqual([planted.reference]);
    expect(await stored('tasks')).toEqual([planted.solution, planted.input].sort());
  });
});
