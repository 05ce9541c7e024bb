import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PreflightFacts } from '#core/preflight-check';
import { PREFLIGHT_CHECKS } from '#core/preflight-checks';
import { CONNECT_PROGRAM, ROLE_PROGRAM, WEB_PROGRAM } from '#core/preflight-programs';
import { checksFrom, outsideTargets, preflightScript, readPreflight } from '#core/preflight-script';

const FACTS: PreflightFacts = {
  region: 'eu-central-1',
  stage: 'default',
  privilege: 'restricted',
  node: '/opt/examhall/node/bin/node',
  runner: '/opt/examhall/runner.mjs',
  runnerKey: '/var/lib/examhall/key',
  jobs: '/var/lib/examhall/jobs',
  artifacts: 'artifacts-bucket',
  references: 'references-bucket',
  table: 'table',
  runDocument: 'examhall-default-run',
  otherAttemptKey: 'attempts/u.1/output/a.txt',
  changedLink: 'https://link.test/?signature=x',
  siblingAddress: '10.0.0.9',
  publicAddress: '203.0.113.9',
  tokenStart: 'AAAAKgAAAA',
  endpoint: null,
};

describe('the list of what a hostile guest tries', () => {
  it('has each thing once, and says what is tried and what counts as refused', () => {
    expect(PREFLIGHT_CHECKS.length).toBeGreaterThanOrEqual(20);
    expect(new Set(PREFLIGHT_CHECKS.map(({ id }) => id)).size).toBe(PREFLIGHT_CHECKS.length);
    for (const { id, tries, refusedWhen } of PREFLIGHT_CHECKS) {
      expect(id).toMatch(/^[a-z]+(?:-[a-z]+)*$/u);
      expect(tries, id).not.toBe('');
      expect(refusedWhen, id).not.toBe('');
    }
  });

  it('asks less of a sandbox whose agent may become root, and the same of its role', () => {
    const upstream = { ...FACTS, privilege: 'upstream' as const };
    const restricted = checksFrom('agent', FACTS).map(({ id }) => id);
    const left = checksFrom('agent', upstream).map(({ id }) => id);
    expect(restricted.filter((id) => !left.includes(id))).toEqual(['metadata-token', 'become-root', 'stop-timer']);
    expect(checksFrom('root', upstream)).toEqual(checksFrom('root', FACTS));
  });

  it('names the ports that nobody outside may reach', () => {
    expect(outsideTargets(FACTS)).toContainEqual({ id: 'outside-ports', host: '203.0.113.9', port: 5000 });
    expect(outsideTargets({ ...FACTS, publicAddress: null })).toEqual([]);
  });
});

describe('a script of it', () => {
  it.each(['agent', 'root'] as const)('is one that a shell understands, for %s', (from) => {
    const { status, stderr } = spawnSync('sh', ['-n'], {
      input: preflightScript('linux', from, FACTS),
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });

  it('holds no text that its own look for tokens would find', () => {
    for (const os of ['linux', 'windows'] as const)
      expect(preflightScript(os, 'agent', FACTS)).not.toContain(FACTS.tokenStart);
  });

  it('quotes every fact, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !text.includes('\0')),
        (text) => {
          const script = preflightScript('linux', 'root', { ...FACTS, stage: text });
          const body = `{"Path":"/examhall/${text}","Recursive":true}`;
          expect(script).toContain(`'${body.replaceAll("'", "'\\''")}'`);
        },
      ),
    );
  });

  it('stands on programs without quotation marks, so that they mean the same in both shells', () => {
    for (const program of [WEB_PROGRAM, CONNECT_PROGRAM, ROLE_PROGRAM]) {
      expect(program).not.toMatch(/['"]/u);
      const { status, stderr } = spawnSync(process.execPath, ['--check', '-'], { input: program, encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, '']);
    }
  });

  it('looks as root, on both systems, for what the agent has put there to outlive its job, and not for itself', () => {
    const mark = `'examhall-preflight-' + 'outlives'`;
    for (const os of ['linux', 'windows'] as const) {
      const [agent, root] = (['agent', 'root'] as const).map((from) => preflightScript(os, from, FACTS));
      expect(root).toContain(os === 'linux' ? 'id=outlive-stop' : `$script:id = 'outlive-stop'`);
      expect([agent, root].map((script) => script?.includes('examhall-preflight-outlives'))).toEqual([false, false]);
      if (os === 'windows') expect([agent, root].map((script) => script?.includes(mark))).toEqual([true, true]);
    }
    const windows = preflightScript('windows', 'agent', FACTS);
    const own = windows.split('\n').filter((line) => line.startsWith('schtasks /create'));
    expect(own).toHaveLength(1);
    expect(own[0]).not.toContain('/ru');
    expect(preflightScript('windows', 'root', FACTS)).toContain(
      'Get-ScheduledTask -ErrorAction Stop | Where-Object { $_.TaskName -eq $outlives }',
    );
  });

  it('gives programs of Windows no word that its PowerShell would drop or change on the way', () => {
    const script = ['agent', 'root'].map((from) => preflightScript('windows', from as 'agent', FACTS)).join('\n');
    const given = script.split('\n').filter((line) => /^(?:web|connect|role) '/.test(line));
    // An empty word and one with double quotes are among them.
    expect(given.some((line) => / ''(?: |$)/.test(line))).toBe(true);
    expect(given.some((line) => line.includes('"'))).toBe(true);
    const calls = script.split('\n').filter((line) => line.includes('& $node'));
    expect(calls.length).toBeGreaterThanOrEqual(3);
    for (const call of calls) expect(call).toMatch(/& \$node -e \$\w+ @words 2>&1/);
    expect(script).toContain(`if ("$_" -eq '') { '""' } else { "$_" -replace '(\\*)"', '$1$1\\"' }`);
  });

  it('leaves out what it has no facts for', () => {
    const script = preflightScript('linux', 'agent', { ...FACTS, siblingAddress: null, tokenStart: null });
    expect(script).not.toContain('id=sibling-cua');
    expect(script).not.toContain('id=task-token');
    expect(script).toContain('id=metadata-token');
  });
});

describe('what a script has printed', () => {
  const printed = [
    'Warning: noise',
    '{"id":"metadata-token","verdict":"refused","evidence":"none ECONNREFUSED"}',
    '{"id":"become-root","verdict":"reached","evidence":"sudo; "}\r',
    '{"id":"stop-timer","verdict":"fine","evidence":"x"}',
  ].join('\n');
  const of = (id: string): unknown => readPreflight('agent', FACTS, printed).find((result) => result.id === id);

  it('is read line by line, and lines of others say nothing', () => {
    expect(of('metadata-token')).toEqual({ id: 'metadata-token', verdict: 'refused', evidence: 'none ECONNREFUSED' });
    expect(of('become-root')).toMatchObject({ verdict: 'reached' });
  });

  it('shows nothing of a check without a line, or with one that makes no sense', () => {
    for (const id of ['stop-timer', 'sibling-cua']) expect(of(id)).toMatchObject({ verdict: 'unknown' });
    expect(readPreflight('agent', FACTS, '').map(({ verdict }) => verdict)).not.toContain('refused');
  });
});
