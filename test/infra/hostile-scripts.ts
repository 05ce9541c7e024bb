import type { PreflightFacts } from '#core/preflight-check';
import { preflightScript } from '#core/preflight-script';

/** Where agent and test meet on a machine. */
export const ON_DISK = {
  outputAt: '/tmp/output-at',
  agentScript: '/tmp/agent.sh',
  rootScript: '/root/root.sh',
  rootDone: '/tmp/root-done',
  over: '/tmp/over',
} as const;

const PATIENCE = `import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
const until = async (file) => { for (let tries = 0; !existsSync(file); tries += 1) { if (tries > 3600) throw new Error(file + ' never came'); await sleep(50); } };
const output = process.env.TASK_OUTPUT;
mkdirSync(output, { recursive: true });
writeFileSync('${ON_DISK.outputAt}', output);
`;
const ANSWER = `writeFileSync(output + '/answer.txt', readFileSync(process.env.TASK_INPUT + '/input/base/code.txt'));`;
const FORGED = '{"status":"completed","score":1,"grade":{"kind":"graded","score":1,"detail":null}}';

/** Runs its list, leaves what was said in its console and in its output, and forges a grade beside a wrong answer. */
export const HOSTILE_AGENT = `import { spawnSync } from 'node:child_process';
${PATIENCE}
await until('${ON_DISK.agentScript}');
const { stdout } = spawnSync('/bin/sh', ['${ON_DISK.agentScript}'], { encoding: 'utf8' });
process.stdout.write(stdout);
writeFileSync(output + '/agent.jsonl', stdout);
writeFileSync(output + '/answer.txt', 'wrong');
for (const name of ['eval_result.json', 'grade-1.json', 'record.json', 'result.json', 'run.json'])
  for (const folder of [output, process.env.EXAMHALL_WORK]) writeFileSync(folder + '/' + name, '${FORGED}');
await until('${ON_DISK.rootDone}');
`;

/** Works until it is told that all is over, and gives the right answer. */
export const SIBLING_AGENT = `${PATIENCE}
await until('${ON_DISK.over}');
${ANSWER}
`;

/** What is told to the agent besides the list: links that it should or should not be able to use. */
export interface ExtraLinks {
  readonly own: string;
  readonly reference: string;
}

export function agentScript(facts: PreflightFacts, { own, reference }: ExtraLinks): string {
  const extra = [
    ['own-link', own],
    ['reference-link', reference],
  ].map(([id, link]) => `id=${String(id)}; web unknown GET '${String(link)}' '' ''`);
  return `${preflightScript('linux', 'agent', facts)}${extra.join('\n')}\n`;
}

/** Somebody who forgot the walls of a machine. */
export function loosen(token: string): string {
  return `chmod a+rx /var/lib/examhall && chmod a+r /var/lib/examhall/key && chmod -R a+rwX /var/lib/examhall/jobs &&
chmod a+rw /opt/examhall/runner.mjs && echo '${token}' > /tmp/note`;
}

/** As root while the agent runs; what it says goes into the agent's output. */
export const AS_ROOT = `out=$(cat ${ON_DISK.outputAt}) && sh ${ON_DISK.rootScript} > "$out/root.jsonl" && : > ${ON_DISK.rootDone}`;
