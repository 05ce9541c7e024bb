import { existsSync } from 'node:fs';
import path from 'node:path';
import { playAll, requireVariable, runShell, type ShellStep } from '../_shared/launch.ts';

const solution = path.resolve('solution');
const isWindows = process.platform === 'win32';

function quote(text: string): string {
  return isWindows ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `solve.mjs`, else `solve.sh`, else the whole folder is what the output folder should hold. */
function solutionStep(): ShellStep {
  const script = path.join(solution, 'solve.mjs');
  if (existsSync(script)) return { run: `${quote(process.execPath)} ${quote(script)}`, note: 'Run the solution.' };
  const shell = path.join(solution, 'solve.sh');
  if (existsSync(shell)) return { run: `/bin/sh ${quote(shell)}`, note: 'Run the solution.' };
  const output = requireVariable('TASK_OUTPUT');
  const copy = isWindows
    ? `xcopy ${quote(solution)} ${quote(output)} /e /i /y`
    : `mkdir -p ${quote(output)} && cp -R ${quote(`${solution}/.`)} ${quote(output)}`;
  return { run: copy, note: 'Put the solution into the output folder.' };
}

if (!existsSync(solution)) {
  process.stderr.write('no solution was put into the working folder; this task has none\n');
  process.exit(1);
}
process.exit((await playAll([solutionStep()], (step) => runShell('call_1', step))) ? 0 : 1);
