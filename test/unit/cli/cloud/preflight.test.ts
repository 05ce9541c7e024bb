import { spawnSync } from 'node:child_process';
import { DescribeInstancesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, it } from 'vitest';
import { PREFLIGHT_CHECKS } from '#core/preflight-checks';
import type { PreflightFacts } from '#core/preflight-check';
import { agentRunScript, privilegeScript, verifyScript } from '#core/preflight-run';
import type { SandboxEntry } from '#contracts/api-sandboxes';
import { DeploymentOutputsSchema } from '#contracts/deployment-outputs';
import { parseJob } from '#guest/job-input';
import { usableSandbox } from '#cli/cloud/live-sandbox';
import type { MachineScript, MachineShell, ScriptEnd } from '#cli/cloud/machine-shell';
import { privilegeOf, runPreflight } from '#cli/cloud/preflight';
import { preflightFacts } from '#cli/cloud/preflight-facts';
import { verifyOn } from '#cli/cloud/verify-sandbox';
import { unitDetail, unitSummary } from '../remote/api-answers.ts';
import { clientOf, startFakeApi, type FakeApi, type FakeHandlers } from '../remote/fake-api.ts';

const open: FakeApi[] = [];
afterEach(async () => {
  for (const api of open.splice(0)) await api.close();
});
async function client(handlers: FakeHandlers) {
  const api = await startFakeApi(handlers);
  open.push(api);
  return clientOf(api);
}

const UNIT = unitSummary().unitId;
const sandbox = (changes: Partial<SandboxEntry> = {}): SandboxEntry => ({
  provider: 'aws',
  sandboxId: 'i-own',
  state: 'ready',
  owner: 'kept',
  attemptId: `${UNIT}.1`,
  unitId: UNIT,
  sweepId: unitSummary().sweepId,
  os: 'linux',
  launchedAt: null,
  ageSeconds: null,
  expiresAt: null,
  orphanSince: null,
  reaper: 'keep',
  why: 'its attempt left it on purpose',
  ...changes,
});

const FACTS: PreflightFacts = {
  region: 'eu-west-1',
  stage: 'prod',
  privilege: 'restricted',
  node: '/opt/examhall/node/bin/node',
  runner: '/opt/examhall/runner.mjs',
  runnerKey: '/var/lib/examhall/key',
  jobs: '/var/lib/examhall/jobs',
  artifacts: 'a',
  references: 'r',
  table: 't',
  runDocument: 'd',
  otherAttemptKey: 'attempts/other.1/collect.json',
  changedLink: 'https://a.example/attempts/other.1/collect.json?X=1',
  siblingAddress: '10.0.0.9',
  publicAddress: '203.0.113.7',
  tokenStart: 'AAAAKgAAAA',
  endpoint: null,
};

function shell(answers: readonly Partial<ScriptEnd>[]): MachineShell & { readonly scripts: MachineScript[] } {
  const scripts: MachineScript[] = [];
  const left = [...answers];
  return {
    scripts,
    waitOnline: async () => Promise.resolve(),
    run: async (_id, script) => {
      scripts.push(script);
      return Promise.resolve({ exitCode: 0, stdout: '', stderr: '', ...left.shift() });
    },
  };
}

const linesOf = (from: 'agent' | 'root', verdict = 'refused'): string =>
  PREFLIGHT_CHECKS.filter((check) => check.from === from)
    .map(({ id }) => JSON.stringify({ id, verdict, evidence: `seen by ${from}` }))
    .join('\n');
const TARGET = { sandboxId: 'i-own', os: 'linux' } as const;
const tools = (answers: readonly Partial<ScriptEnd>[], said = 'closed 22:silent') => {
  const told: string[] = [];
  const made = shell(answers);
  return {
    told,
    scripts: made.scripts,
    tools: {
      shell: made,
      connect: async () => Promise.resolve(said),
      tell: (line: string) => told.push(line),
      jobId: 'j-1',
    },
  };
};

describe('a preflight', () => {
  it('tries every check once, as the agent in a job, as root after its stop, and from outside', async () => {
    const { tools: made, scripts } = tools([{ stdout: linesOf('agent') }, { stdout: linesOf('root') }]);
    const outcomes = await runPreflight(TARGET, FACTS, made);
    expect(outcomes.map(({ id }) => id)).toEqual(
      PREFLIGHT_CHECKS.filter(({ privileges }) => privileges.includes('restricted')).map(({ id }) => id),
    );
    expect(outcomes.length).toBeGreaterThan(15);
    expect(outcomes.filter(({ verdict }) => verdict !== 'refused')).toEqual([]);
    expect(new Set(outcomes.map(({ from }) => from))).toEqual(new Set(['agent', 'root', 'outside']));
    expect(scripts).toHaveLength(2);
    expect(scripts[0]?.text).toMatch(/start[\s\S]*wait[\s\S]*stdout[\s\S]*stop .* --uid 1100/u);
  });

  it.each([
    ['what was reached', { stdout: linesOf('agent', 'reached') }, 'closed', 'reached'],
    ['an agent that said nothing', { exitCode: 1, stdout: '', stderr: 'no runner' }, 'closed', 'unknown'],
    ['a line that somebody cut', { stdout: linesOf('agent').slice(0, 40) }, 'closed', 'unknown'],
    ['a port that answers from outside', { stdout: linesOf('agent') }, 'open 5000:open', 'reached'],
    ['a network that leads nowhere', { stdout: linesOf('agent') }, 'nowhere 22:ENETUNREACH', 'unknown'],
  ])('takes %s for no pass', async (_what, agent, said, verdict) => {
    const { tools: made } = tools([agent, { stdout: linesOf('root') }], said);
    const outcomes = await runPreflight(TARGET, FACTS, made);
    expect(outcomes.map((outcome) => outcome.verdict)).toContain(verdict);
  });

  it('leaves what needs an unknown fact unknown', async () => {
    const { tools: made } = tools([{ stdout: linesOf('agent') }, { stdout: linesOf('root') }]);
    const outcomes = await runPreflight(TARGET, { ...FACTS, publicAddress: null }, made);
    expect(outcomes.find(({ from }) => from === 'outside')).toMatchObject({ verdict: 'unknown' });
  });

  it('asks the sandbox for its privilege, and takes no other word', async () => {
    expect(await privilegeOf(TARGET, shell([{ stdout: 'upstream\n' }]))).toBe('upstream');
    await expect(privilegeOf(TARGET, shell([{ stdout: '', stderr: 'no such file' }]))).rejects.toThrow('no such file');
  });

  it('runs on a kept sandbox alone, and says which it would take', async () => {
    const list = (entry: SandboxEntry): FakeHandlers => ({ listSandboxes: () => ({ items: [entry], cursor: null }) });
    expect(await usableSandbox(await client(list(sandbox())), 'i-own', 'kept')).toMatchObject({ os: 'linux' });
    for (const changes of [{ owner: 'attempt' }, { state: 'stopped' }, { provider: 'process' }, { os: null }] as const)
      await expect(usableSandbox(await client(list(sandbox(changes))), 'i-own', 'kept')).rejects.toThrow(
        'cleanup_mode',
      );
    const used = await client(list(sandbox({ owner: 'attempt' })));
    expect(await usableSandbox(used, 'i-own', 'any')).toMatchObject({ sandboxId: 'i-own' });
  });

  it('learns from API and EC2 what it can, and leaves the rest null', async () => {
    const ec2 = mockClient(EC2Client);
    const instance = (ip: string) => ({
      Reservations: [{ Instances: [{ PrivateIpAddress: ip, PublicIpAddress: '203.0.113.7' }] }],
    });
    ec2.on(DescribeInstancesCommand, { InstanceIds: ['i-own'] }).resolves(instance('10.0.0.8'));
    ec2.on(DescribeInstancesCommand, { InstanceIds: ['i-other'] }).resolves(instance('10.0.0.9'));
    const other = unitSummary({ unitId: `${UNIT}__t002`, attempts: 1 });
    const [attempt] = unitDetail().attemptList;
    const file = { path: 'record.json', sizeBytes: 1, sha256: 'ab', url: 'https://a.example/runs/record.json?X=1' };
    const asked = await client({
      listUnits: () => ({ items: [unitSummary({ attempts: 1 }), other], cursor: null }),
      getUnit: () => unitDetail({ attemptList: attempt === undefined ? [] : [{ ...attempt, files: [file] }] }),
      listSandboxes: () => ({ items: [sandbox(), sandbox({ sandboxId: 'i-other' })], cursor: null }),
    });
    const outputs = DeploymentOutputsSchema.parse({
      ...{ version: 1, stage: 'prod', region: 'eu-west-1', accountId: '111122223333', apiUrl: 'https://x.example/v1' },
      buckets: { artifacts: 'artifacts', tasks: 'tasks', references: 'references' },
      ...{ tableName: 'table', eventBusName: 'bus', scheduleGroupName: 'group' },
      machines: { sweep: 'arn:a', grade: 'arn:b' },
      versions: { examhall: '0.1.0', codeSha256: 'ab'.repeat(32) },
    });
    const settings = {
      ...{ stage: 'prod', tags: {}, networks: {}, images: {}, machineTypes: {}, volumeKeyArn: 'arn:key' },
      documents: { run: 'run', wait: 'wait' },
    };
    const known = { sandbox: sandbox(), os: 'linux', privilege: 'restricted', outputs, settings } as const;
    const facts = await preflightFacts(known, { client: asked, ec2: new EC2Client({ region: 'eu-west-1' }) });
    expect(facts).toMatchObject({
      otherAttemptKey: `attempts/${UNIT}__t002.1/collected/collect.json`,
      changedLink: `https://a.example/attempts/${UNIT}__t002.1/collected/collect.json?X=1`,
      siblingAddress: '10.0.0.9',
      publicAddress: '203.0.113.7',
      references: 'references',
      runDocument: 'run',
    });
    const alone = await client({
      listUnits: () => ({ items: [], cursor: null }),
      listSandboxes: () => ({ items: [], cursor: null }),
    });
    expect(await preflightFacts(known, { client: alone, ec2: new EC2Client({ region: 'eu-west-1' }) })).toMatchObject({
      otherAttemptKey: null,
      changedLink: null,
      siblingAddress: null,
    });
    ec2.restore();
  });
});

describe('the doctor on a sandbox', () => {
  const line = JSON.stringify({ image: 'ubuntu-desktop', ok: true, checks: [{ name: 'node', ok: true, seen: 'v24' }] });

  it('reads the only line of JSON, and believes neither it nor the exit code alone', async () => {
    expect(await verifyOn(TARGET, shell([{ stdout: `some warning\n${line}\n` }]))).toMatchObject({ ok: true });
    expect(await verifyOn(TARGET, shell([{ stdout: line, exitCode: 1 }]))).toMatchObject({ ok: false });
  });

  it.each([
    ['nothing', ''],
    ['no checks', JSON.stringify({ image: 'x', ok: true, checks: [] })],
    ['no JSON', '{ok}'],
  ])('takes %s for no answer', async (_what, stdout) => {
    await expect(verifyOn(TARGET, shell([{ stdout, exitCode: 127, stderr: 'not found' }]))).rejects.toThrow(
      'not found',
    );
  });
});

const agentRun = (os: 'linux' | 'windows', script: string, privilege: 'restricted' | 'upstream' = 'restricted') =>
  agentRunScript(os, { script, jobId: 'j-1', privilege });

describe('the scripts for a sandbox', () => {
  it.each([agentRun('linux', `echo 'it''s "here"'`), privilegeScript('linux'), verifyScript('linux')])(
    'are bash that parses',
    (script) => {
      const { status, stderr } = spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    },
  );

  it.each(['restricted', 'upstream'] as const)('run a job as the runner takes one of an agent: %s', (privilege) => {
    const encoded = /printf %s '([^']+)'/u.exec(agentRun('linux', 'true', privilege))?.[1] ?? '';
    const job = parseJob(Buffer.from(encoded, 'base64').toString());
    expect(job).toMatchObject({ jobId: 'j-1', account: { name: 'user', uid: 1100 }, argv: ['/bin/sh', '-c', 'true'] });
    expect(job.isolation).toMatchObject({ kind: 'none', keepsDesktop: true });
    expect('allowsSudo' in job.isolation).toBe(privilege === 'upstream');
  });

  it('take no job id that could say more', () => {
    expect(() => agentRunScript('linux', { script: 'true', jobId: `x'; reboot`, privilege: 'restricted' })).toThrow(
      RangeError,
    );
    expect(agentRun('windows', 'exit 0')).toContain("start 'C:\\ProgramData\\ExamHall\\jobs'");
  });
});
