import { PREFLIGHT_CHECKS } from '#core/preflight-checks';
import type { PreflightFacts } from '#core/preflight-check';
import { agentRunScript, privilegeScript } from '#core/preflight-run';
import { outsideTargets, preflightScript, readPreflight, type PreflightResult } from '#core/preflight-script';
import { RemoteError } from '#cli/remote/remote-error';
import type { MachineShell } from './machine-shell.ts';

export interface PreflightTarget {
  readonly sandboxId: string;
  readonly os: 'linux' | 'windows';
}

export interface PreflightTools {
  readonly shell: MachineShell;
  /** Tries to connect from this computer: `open ...`, `closed ...` or `nowhere ...`. */
  readonly connect: (host: string, ports: readonly number[]) => Promise<string>;
  readonly tell: (line: string) => void;
  /** Of the job that the agent's part runs as; each run needs another. */
  readonly jobId: string;
}

export interface CheckOutcome extends PreflightResult {
  readonly tries: string;
  readonly refusedWhen: string;
  readonly from: 'agent' | 'root' | 'outside';
}

const ONLINE_SECONDS = 120;
const AGENT_SECONDS = 420;
const ROOT_SECONDS = 300;

/** What the sandbox was set up as. @throws RemoteError when it does not say. */
export async function privilegeOf({ sandboxId, os }: PreflightTarget, shell: MachineShell) {
  await shell.waitOnline(sandboxId, ONLINE_SECONDS);
  const { stdout, stderr } = await shell.run(sandboxId, { os, text: privilegeScript(os), timeoutSeconds: 60 });
  const privilege = stdout.trim();
  if (privilege === 'restricted' || privilege === 'upstream') return privilege;
  const seen = JSON.stringify(`${privilege} ${stderr}`.trim().slice(0, 200));
  throw new RemoteError(
    'host',
    `${sandboxId} does not say its privilege, but ${seen}; it was not set up by a boot of ours`,
  );
}

/** Tries everything on one sandbox, as its agent, as root, and from here; what says nothing is unknown, and no pass. */
export async function runPreflight(
  { sandboxId, os }: PreflightTarget,
  facts: PreflightFacts,
  { shell, connect, tell, jobId }: PreflightTools,
): Promise<readonly CheckOutcome[]> {
  tell('trying as the agent');
  const { privilege } = facts;
  const asAgent = agentRunScript(os, { script: preflightScript(os, 'agent', facts), jobId, privilege });
  const agent = await shell.run(sandboxId, { os, text: asAgent, timeoutSeconds: AGENT_SECONDS });
  if (agent.exitCode !== 0)
    tell(`the agent's part ended with exit code ${String(agent.exitCode)}: ${agent.stderr.slice(0, 500)}`);
  tell('trying as root, once the agent was stopped');
  const asRoot = preflightScript(os, 'root', facts);
  const root = await shell.run(sandboxId, { os, text: asRoot, timeoutSeconds: ROOT_SECONDS });
  tell('trying from this computer');
  const results = [
    ...readPreflight('agent', facts, agent.stdout),
    ...readPreflight('root', facts, root.stdout),
    ...(await fromOutside(facts, connect)),
  ];
  const known = new Map(results.map((result) => [result.id, result]));
  return PREFLIGHT_CHECKS.filter(({ privileges }) => privileges.includes(facts.privilege)).map(
    ({ id, tries, refusedWhen, from }) => ({
      ...(known.get(id) ?? { id, verdict: 'unknown', evidence: 'a fact that it needs is not known' }),
      ...{ tries, refusedWhen, from },
    }),
  );
}

const VERDICTS = { open: 'reached', closed: 'refused', nowhere: 'unknown' } as const;

async function fromOutside(
  facts: PreflightFacts,
  connect: PreflightTools['connect'],
): Promise<readonly PreflightResult[]> {
  const targets = outsideTargets(facts);
  const results: PreflightResult[] = [];
  for (const id of new Set(targets.map((target) => target.id))) {
    const tried = targets.filter((target) => target.id === id);
    const [first] = tried;
    if (first === undefined) continue;
    const said = await connect(
      first.host,
      tried.map(({ port }) => port),
    );
    const word = said.split(' ')[0];
    const verdict = word === 'open' || word === 'closed' || word === 'nowhere' ? VERDICTS[word] : 'unknown';
    results.push({ id, verdict, evidence: said });
  }
  return results;
}
