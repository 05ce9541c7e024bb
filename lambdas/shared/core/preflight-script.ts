import { quotePowerShell } from './cua/windows-shell.ts';
import { METADATA, PREFLIGHT_CHECKS } from './preflight-checks.ts';
import type { PreflightCheck, PreflightFacts, PreflightWay } from './preflight-check.ts';
import { POWERSHELL_PRELUDE, SHELL_PRELUDE } from './preflight-preludes.ts';

type Os = 'linux' | 'windows';
type From = PreflightCheck['from'];

/** `unknown`: nothing was shown; whoever needs a check refused has to take it for one that failed. */
export interface PreflightResult {
  readonly id: string;
  readonly verdict: 'refused' | 'reached' | 'unknown';
  readonly evidence: string;
}

/** With what a process says that it is the one that is to outlive its job. It is not written like this in any script. */
const OUTLIVES = ['examhall-preflight', 'outlives'];

/** Checks that count for a sandbox with this privilege, tried from there. */
export function checksFrom(from: From, { privilege }: Pick<PreflightFacts, 'privilege'>): readonly PreflightCheck[] {
  return PREFLIGHT_CHECKS.filter((check) => check.from === from && check.privileges.includes(privilege));
}

/**
 * All checks of one side as one script (POSIX shell or PowerShell), which prints a line of JSON for each. `agent`: to be run
 * as the agent's account, in a job of the runner, so that `root`, run once that job was stopped, can look for what is left.
 */
export function preflightScript(os: Os, from: 'agent' | 'root', facts: PreflightFacts): string {
  const tried = checksFrom(from, facts).flatMap((check) => stepOf(os, check, facts) ?? []);
  const words: Readonly<Record<string, string>> = {
    node: facts.node,
    runner: facts.runner,
    runner_key: facts.runnerKey,
    jobs: facts.jobs,
    // Written so that it does not match itself in this script.
    token: facts.tokenStart === null ? '' : `[${facts.tokenStart.slice(0, 1)}]${facts.tokenStart.slice(1)}`,
  };
  const quoteWord = os === 'linux' ? quote : quotePowerShell;
  const assign = Object.entries(words).map(
    ([name, value]) => `${os === 'linux' ? '' : '$'}${name}=${quoteWord(value)}`,
  );
  const mark =
    os === 'linux'
      ? [`outlives=$(printf '%s-%s' ${OUTLIVES.join(' ')})`]
      : [`$outlives = '${OUTLIVES.join("-' + '")}'`];
  return [os === 'linux' ? SHELL_PRELUDE : POWERSHELL_PRELUDE, ...assign, ...mark, ...tried, ''].join('\n');
}

/** What a script has printed, for each check it should have made; lines of others say nothing. */
export function readPreflight(from: 'agent' | 'root', facts: PreflightFacts, printed: string): PreflightResult[] {
  const lines = new Map(printed.split(/\r?\n/u).flatMap((line) => readLine(line)));
  return checksFrom(from, facts).map(
    ({ id }) => lines.get(id) ?? { id, verdict: 'unknown', evidence: 'it was not tried, or said nothing' },
  );
}

/** What a computer outside the network has to try to connect to, in vain. */
export function outsideTargets(
  facts: PreflightFacts,
): { readonly id: string; readonly host: string; readonly port: number }[] {
  return checksFrom('outside', facts).flatMap(({ id, way }) => {
    const host = way.kind === 'connect' ? filled(way.host, facts) : null;
    return way.kind !== 'connect' || host === null ? [] : way.ports.map((port) => ({ id, host, port }));
  });
}

function readLine(line: string): [string, PreflightResult][] {
  try {
    const { id, verdict, evidence } = JSON.parse(line) as Record<string, unknown>;
    const isVerdict = verdict === 'refused' || verdict === 'reached' || verdict === 'unknown';
    if (typeof id !== 'string' || !isVerdict || typeof evidence !== 'string') return [];
    return [[id, { id, verdict, evidence }]];
  } catch {
    return [];
  }
}

function stepOf(os: Os, { id, way }: PreflightCheck, facts: PreflightFacts): string | null {
  if (id === 'task-token' && facts.tokenStart === null) return null;
  const body = bodyOf(os, way, facts);
  if (body === null) return null;
  return os === 'linux'
    ? `(id=${id}; reached=; seen=; real=\n${body}\n) < /dev/null`
    : `& { $script:id = '${id}'; $script:reached = ''; $script:seen = ''; $script:real = $false\n${body}\n}`;
}

function bodyOf(os: Os, way: PreflightWay, facts: PreflightFacts): string | null {
  if (way.kind === 'script') return way[os];
  const words = wordsOf(way, facts);
  if (words === null) return null;
  return `${words.command} ${words.given.map(os === 'linux' ? quote : quotePowerShell).join(' ')}`;
}

/** Null when a fact is missing. */
function wordsOf(
  way: Exclude<PreflightWay, { kind: 'script' }>,
  facts: PreflightFacts,
): { readonly command: string; readonly given: readonly string[] } | null {
  switch (way.kind) {
    case 'http': {
      const url = filled(way.url, facts);
      if (url === null) return null;
      const headers = Object.entries(way.headers ?? {}).map(([name, value]) => `${name}=${value}`);
      return { command: 'web', given: [way.silence, way.method, url, headers.join('&'), way.body ?? ''] };
    }
    case 'connect': {
      const host = filled(way.host, facts);
      return host === null ? null : { command: 'connect', given: [host, ...way.ports.map(String)] };
    }
    case 'role': {
      const url = filled(`{endpoint:${way.service}}${way.path}`, facts);
      const body = filled(way.body, facts);
      if (url === null || body === null) return null;
      const type = way.target === '' ? 'application/x-www-form-urlencoded' : 'application/x-amz-json-1.1';
      const given = [METADATA, facts.region, way.service, url, way.target, body === '' ? '' : type, body];
      return { command: 'role', given };
    }
  }
}

/** Puts facts for names in braces; null when one is missing. */
function filled(text: string, facts: PreflightFacts): string | null {
  const values = new Map<string, unknown>(Object.entries(facts));
  const missing: string[] = [];
  const done = text.replace(/\{(?:(endpoint):)?(\w+)\}/gu, (_, ...[endpoint, name]: string[]) => {
    const value = endpoint === undefined ? values.get(name ?? '') : at(name ?? '', facts);
    if (typeof value === 'string') return value;
    missing.push(name ?? '');
    return '';
  });
  return missing.length === 0 ? done : null;
}

function at(service: string, { endpoint, region }: PreflightFacts): string {
  return (endpoint ?? `https://{service}.${region}.amazonaws.com`).replace('{service}', service);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
