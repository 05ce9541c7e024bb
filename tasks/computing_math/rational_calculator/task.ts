/** Repair a small calculator; graded by running it on hidden inputs, one group of behaviour at a time. */
import {
  prepareOutput,
  shellQuote,
  type EvaluateContext,
  type Evaluation,
  type FileReader,
  type LoadContext,
  type Session,
  type StartContext,
  type TaskVariant,
} from '#sdk';

const ENTRY = 'calc.mjs';
const CASE_TIMEOUT_SECONDS = 5;
/** After this many runs that had to be killed, the rest count as failed: bounds the whole grading. */
const MAX_HANGS = 2;
/** Exit code of the watchdog when it had to kill. */
const HUNG = 124;
const MAX_FILES = 50;
const MAX_PROGRAM_BYTES = 1024 * 1024;
const MAX_STDOUT_BYTES = 64 * 1024;

interface HiddenTest {
  readonly group: string;
  readonly name: string;
  readonly input: string;
  readonly expected: string;
}

interface Run {
  readonly passed: boolean;
  readonly hung: boolean;
}

export function load(context: LoadContext): readonly TaskVariant[] {
  const name = 'base';
  const paths = context.paths(name);
  const prompt = [
    'Repair a small command-line calculator over exact rational numbers.',
    '',
    `Read ${paths.input}/instruction.md first; ${paths.input}/SPEC.md is the specification the program must follow.`,
    `The faulty program and its visible tests are in ${paths.input}/project (run: node ${paths.input}/project/test.mjs).`,
    '',
    `Write the corrected program to ${paths.output}. Its entry must be ${paths.output}/${ENTRY}; other .mjs files may lie beside it.`,
    `You can run the visible tests against it: node ${paths.input}/project/test.mjs ${paths.output}`,
    'It will be run with plain Node 20 on further inputs that cover the whole specification.',
  ].join('\n');
  return [{ name, prompt }];
}

export async function start(context: StartContext): Promise<void> {
  const project = ['calc.mjs', 'parser.mjs', 'rational.mjs', 'test.mjs'].map((file) => `project/${file}`);
  await prepareOutput(context.session, context.paths, ['instruction.md', 'SPEC.md', ...project]);
}

export async function evaluate(context: EvaluateContext): Promise<Evaluation> {
  const { session, output } = context;
  if (session === null) throw new Error('this task runs the program in the sandbox; its card must say "same-sandbox"');
  const tests = parseTests(await context.reference.readText('hidden_tests.json'));
  const program = await readProgram(output);
  if (typeof program === 'string') return { score: 0, reason: program };

  const folder = await installProgram(session, program);
  try {
    return summarize(tests, await runAll(session, folder, tests));
  } finally {
    await session.runCommand(`rm -rf -- ${shellQuote(folder)}`);
  }
}

function parseTests(text: string): readonly HiddenTest[] {
  const tests = JSON.parse(text) as readonly HiddenTest[];
  if (tests.length === 0) throw new Error('reference/hidden_tests.json holds no test');
  return tests;
}

/** The collected program as path and bytes, or why it cannot be run. */
async function readProgram(output: FileReader): Promise<ReadonlyMap<string, Uint8Array> | string> {
  if (!(await output.exists(ENTRY))) return `${ENTRY} is missing`;
  const files = (await output.list()).filter((file) => /\.(mjs|js|cjs|json)$/.test(file));
  if (files.length > MAX_FILES) return `the program has ${files.length} files, at most ${MAX_FILES} are run`;
  const program = new Map<string, Uint8Array>();
  let total = 0;
  for (const file of files) {
    total += await output.sizeBytes(file);
    if (total > MAX_PROGRAM_BYTES) return `the program is larger than ${MAX_PROGRAM_BYTES} bytes`;
    program.set(file, await output.readBytes(file));
  }
  return program;
}

/** Puts the collected program into a new folder of the sandbox, where nothing else is. */
async function installProgram(session: Session, program: ReadonlyMap<string, Uint8Array>): Promise<string> {
  const folders = new Set([...program.keys()].map((file) => `program/${file}`.replace(/\/[^/]*$/, '')));
  const make = `folder=$(mktemp -d) && cd "$folder" && mkdir -p -- ${[...folders].map(shellQuote).join(' ')}`;
  const made = await session.runCommand(`${make} && printf %s "$folder"`, { check: true });
  for (const [file, bytes] of program) await session.writeBytes(`${made.stdout}/program/${file}`, bytes);
  return made.stdout;
}

async function runAll(session: Session, folder: string, tests: readonly HiddenTest[]): Promise<readonly Run[]> {
  const runs: Run[] = [];
  let hangs = 0;
  for (const test of tests) {
    const run = hangs < MAX_HANGS ? await runTest(session, folder, test) : { passed: false, hung: false };
    if (run.hung) hangs += 1;
    runs.push(run);
  }
  return runs;
}

/** Runs inside the sandbox: own process group, output to a file, killed as a group when time is up. */
const WATCHDOG = `
const { spawn } = require('node:child_process');
const { openSync } = require('node:fs');
const [, folder, entry, seconds] = process.argv;
const io = [openSync(folder + '/stdin'), openSync(folder + '/stdout', 'w'), 'ignore'];
const child = spawn(process.execPath, [entry], { cwd: folder + '/program', stdio: io, detached: true });
const kill = () => { try { process.kill(-child.pid, 'SIGKILL'); } catch {} };
let hung = false;
const timer = setTimeout(() => { hung = true; kill(); }, Number(seconds) * 1000);
child.on('exit', () => { clearTimeout(timer); kill(); process.exit(hung ? ${HUNG} : 0); });
`;

async function runTest(session: Session, folder: string, test: HiddenTest): Promise<Run> {
  const words = ['.', ENTRY, String(CASE_TIMEOUT_SECONDS)].map(shellQuote).join(' ');
  const steps = [
    `cd ${shellQuote(folder)}`,
    `printf %s ${shellQuote(test.input)} > stdin`,
    `"\${NODE:-node}" -e ${shellQuote(WATCHDOG)} ${words}`,
    `head -c ${MAX_STDOUT_BYTES} stdout`,
  ];
  const { returnCode, stdout } = await session.runCommand(steps.join(' && '), {
    timeoutSeconds: CASE_TIMEOUT_SECONDS * 4,
  });
  const passed = returnCode === 0 && stdout.trimEnd() === test.expected.trimEnd();
  return { passed, hung: returnCode === HUNG || returnCode < 0 };
}

/** A group passes when each of its tests does; the score is the fraction of groups that pass. */
function summarize(tests: readonly HiddenTest[], runs: readonly Run[]): Evaluation {
  const groups = new Map<string, boolean>();
  tests.forEach((test, index) => {
    groups.set(test.group, (groups.get(test.group) ?? true) && runs[index]?.passed === true);
  });
  const passed = [...groups.values()].filter(Boolean).length;
  return {
    score: passed / groups.size,
    groups: Object.fromEntries(groups),
    hangs: runs.filter((run) => run.hung).length,
  };
}
