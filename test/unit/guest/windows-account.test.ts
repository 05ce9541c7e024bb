import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { STOP_SECONDS } from '#adapters/ssm-channel';
import { MARGIN_SECONDS } from '#adapters/ssm-requests';
import { endAccount, LONGEST_END_SECONDS } from '#guest/end-account';
import { stopJob } from '#guest/job-control';
import { JobFolder } from '#guest/job-folder';
import { ProcessTable } from '#guest/process-table';
import type { Printed } from '#guest/windows';
import { endAccountScript, lookAtAccountScript, parseAccountLook } from '#guest/windows-account';

/** The marker as the script itself prints it. */
const END = /; '([^']+)' \} catch/.exec(lookAtAccountScript('User'))?.[1] ?? 'the script prints no end';

const NOTHING_PRINTED: Printed = { status: null, stdout: null, stderr: null };

/** A machine as far as the two scripts see it: what is there of an account, and what each round of ending leaves. */
class FalseMachine {
  readonly rounds: (readonly string[])[];
  readonly asked: ('end' | 'look')[] = [];
  /** Looks that fail, by their number from 0. */
  readonly blind: ReadonlySet<number>;
  #left: readonly string[];

  constructor(rounds: readonly (readonly string[])[], blind: readonly number[] = []) {
    this.rounds = [...rounds];
    this.blind = new Set(blind);
    this.#left = [
      'process\t812 explorer.exe',
      'process\t4711 node.exe',
      'task\t\\ExamHall-Session',
      'account\tis open',
    ];
  }

  readonly run = (script: string): Promise<Printed> => {
    const verb = script === endAccountScript('User') ? 'end' : 'look';
    this.asked.push(verb);
    if (verb === 'end') {
      this.#left = this.rounds.length > 1 ? (this.rounds.shift() ?? []) : (this.rounds[0] ?? []);
      return Promise.resolve({ status: 0, stdout: '', stderr: '' });
    }
    expect(script).toBe(lookAtAccountScript('User'));
    if (this.blind.has(this.looks - 1)) return Promise.resolve({ status: 1, stdout: '', stderr: 'Access denied' });
    return Promise.resolve({ status: 0, stdout: [...this.#left, END, ''].join('\r\n'), stderr: '' });
  };

  end(limitSeconds = 5, mostSeconds = 5): ReturnType<typeof endAccount> {
    return endAccount('User', { run: this.run, limitSeconds, mostSeconds, pauseSeconds: 0.001 });
  }

  get looks(): number {
    return this.asked.filter((each) => each === 'look').length;
  }
}

const DEAD = { confirmedDead: true, survivors: 0 };
const AGENT = 'process\t5001 agent.exe';
const UNSURE = { confirmedDead: false, unsure: expect.any(String) as string };

describe('row 17: the end of the account of a Windows sandbox', () => {
  it('is confirmed by two looks in a row that see nothing', async () => {
    const machine = new FalseMachine([[]]);
    expect(await machine.end()).toEqual(DEAD);
    expect(machine.asked).toEqual(['end', 'look', 'end', 'look']);
  });

  it('is sought again and again, until what comes back has stopped to', async () => {
    const respawned = ['process\t5001 agent.exe'];
    const machine = new FalseMachine([respawned, [], respawned, ['task\t\\Respawn', ...respawned], [], []]);
    expect(await machine.end()).toEqual(DEAD);
    expect(machine.looks).toBe(6);
  });

  it.each([
    ['a process', 'process\t5001 agent.exe', 'process 5001 agent.exe'],
    ['a task that would start one', 'task\t\\Microsoft\\Respawn', 'task \\Microsoft\\Respawn'],
    ['a way to log on', 'account\tis open', 'account is open'],
    ['an account that was given another name', 'account\tis not there', 'account is not there'],
  ])('is not confirmed while there is %s, which is named', async (_, line, name) => {
    expect(await new FalseMachine([[line]]).end(0.05)).toEqual({ confirmedDead: false, survivors: 1, left: [name] });
  });

  it('is unsure, and blames nobody, when the time is over after one quiet look', async () => {
    expect(await new FalseMachine([[]]).end(0, 0)).toEqual({
      ...UNSURE,
      survivors: 0,
      left: [],
      unsure: expect.stringMatching(/after 0 looks that saw something/) as string,
    });
  });

  it('lays nothing to the agent of a machine that is too slow for three rounds', async () => {
    const slow = new FalseMachine([[AGENT], [AGENT], []]);
    expect(await slow.end(0, 0)).toMatchObject({ ...UNSURE, left: ['process 5001 agent.exe'] });
    // Had it been given the rounds, it would have been dead.
    expect(await new FalseMachine([[AGENT], [AGENT], []]).end(0)).toEqual(DEAD);
  });

  it('says what survives once three rounds have met it, and asks no more', async () => {
    const machine = new FalseMachine([[AGENT]]);
    expect(await machine.end(0)).toEqual({ confirmedDead: false, survivors: 1, left: ['process 5001 agent.exe'] });
    expect(machine.looks).toBe(3);
  });

  it('counts all that is left, and names twenty', async () => {
    const many = Array.from({ length: 5000 }, (_, index) => `process\t${index + 10} bomb.exe`);
    const report = await new FalseMachine([many]).end(0);
    expect([report.confirmedDead, report.survivors, report.left?.length]).toEqual([false, 5000, 20]);
  });

  it('looks again where a look failed, and takes no failure for a quiet one', async () => {
    const machine = new FalseMachine([[]], [0, 2]);
    expect(await machine.end()).toEqual(DEAD);
    // Failed, quiet, failed, quiet, quiet.
    expect(machine.looks).toBe(5);
  });

  it('takes no agent’s word for it that nobody can look any more: three rounds had met it', async () => {
    const machine = new FalseMachine(
      [[AGENT]],
      Array.from({ length: 5000 }, (_, index) => index + 3),
    );
    const report = await machine.end(0.03, 0.05);
    expect(report).toEqual({ confirmedDead: false, survivors: 1, left: ['process 5001 agent.exe'] });
  });

  it('is over while the channel still hears, on the slowest machine, with a supervisor that was asked before', () => {
    expect(10 + LONGEST_END_SECONDS).toBeLessThan(STOP_SECONDS + MARGIN_SECONDS);
  });

  it('is unsure where nobody can look, and says why', async () => {
    expect(await new FalseMachine([[]], [0]).end(0, 0)).toMatchObject({
      ...UNSURE,
      unsure: expect.stringMatching(/not whole: .* Access denied/) as string,
    });
    // As here, where there is no PowerShell.
    expect(await endAccount('User', { limitSeconds: 0, mostSeconds: 0 })).toMatchObject(UNSURE);
  });

  it('is confirmed for what is really gone alone, whatever happens meanwhile', async () => {
    const line = fc.constantFrom('process\t5001 agent.exe', 'task\t\\T', 'account\tis open');
    const schedule = fc.array(fc.array(line, { maxLength: 2 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(schedule, fc.array(fc.nat(5), { maxLength: 3 }), async (rounds, blind) => {
        const last = rounds.at(-1) ?? [];
        const { confirmedDead } = await new FalseMachine(rounds, blind).end(...(last.length > 0 ? [0, 0.02] : []));
        const hasQuietPair = rounds.some((left, at) => left.length === 0 && (rounds[at + 1] ?? left).length === 0);
        if (confirmedDead) expect(hasQuietPair).toBe(true);
        else expect(last.length).toBeGreaterThan(0);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the scripts that end an account and look at it', () => {
  it('shut the account, then end its tasks, its sessions and its processes, and spare none', () => {
    const script = endAccountScript('User');
    const steps = ['Disable-LocalUser', 'Stop-ScheduledTask', 'Unregister-ScheduledTask', 'logoff.exe', 'taskkill.exe'];
    const places = steps.map((step) => script.indexOf(step));
    expect(
      places.every((at, index) => at > (places[index - 1] ?? 0)),
      script,
    ).toBe(true);
    expect(script).not.toMatch(/-notin|-ne 'explorer|CreationDate/);
  });

  it('know an account by its SID, and never take that of a service', () => {
    for (const script of [endAccountScript('User'), lookAtAccountScript('User')]) {
      expect(script).toContain("(Get-LocalUser -Name 'User' -ErrorAction SilentlyContinue).SID.Value");
      expect(script).toContain('-MethodName GetOwnerSid');
      expect(script.startsWith('[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)\r\n')).toBe(true);
    }
    expect(endAccountScript('User').split('\r\n')).toContain('if (-not $sid) { exit 1 }');
  });

  it('hold plain names alone', () => {
    for (const name of ["O'Brien", '', 'a b', 'Üser', 'x'.repeat(21), '*', '-Name'])
      for (const script of [endAccountScript, lookAtAccountScript]) expect(() => script(name)).toThrow(TypeError);
  });

  it('look in one statement that prints its end last, and fail as a whole', () => {
    const look = lookAtAccountScript('User').trimEnd().split('\r\n').at(-1) ?? '';
    expect(look).toMatch(/^try \{ .*; '[^']+' \} catch \{.*exit 1 \}$/);
    expect(look.match(/-ErrorAction Stop/g)).toHaveLength(3);
  });

  it('are read back as what they say, and a look that was cut is none', () => {
    const stdout = `process\t88 a b.exe\r\nnoise\r\nother\tx\r\ntask\t\\T${'x'.repeat(300)}\r\n${END}\r\n`;
    const [process = '', task = '', ...more] = parseAccountLook({ status: 0, stdout, stderr: '' });
    expect([process, task.length, more]).toEqual(['process 88 a b.exe', 100, []]);
    for (const printed of [
      NOTHING_PRINTED,
      { status: 0, stdout: stdout.slice(0, -5), stderr: '' },
      { status: 1, stdout, stderr: '' },
      { status: 0, stdout: '', stderr: '' },
    ])
      expect(() => parseAccountLook(printed)).toThrow(/not whole/);
  });
});

describe('the stop of a job whose account Windows ends', () => {
  let jobsDir: string;
  beforeEach(() => {
    jobsDir = mkdtempSync(path.join(os.tmpdir(), 'examhall-stop-'));
  });
  afterEach(() => rmSync(jobsDir, { recursive: true, force: true }));

  /** Of a job that has a result, and stops with this answer of its account's end. */
  async function stop(
    account: string | null,
    report = DEAD,
  ): Promise<{ readonly report: object; readonly asked: string[] }> {
    const folder = new JobFolder(jobsDir, 'job-1');
    const asked: string[] = [];
    const end = (name: string) => (asked.push(name), Promise.resolve(report));
    return { report: await stopJob(folder, new ProcessTable(), { uid: null, account }, end), asked };
  }

  function leaveJob(): void {
    const account = { name: 'Agent', uid: null, gid: null, home: 'C:\\Users\\Agent' };
    const base = { version: 1, jobId: 'job-1', kind: 'exec', wallSeconds: 9, account, isolation: { kind: 'none' } };
    const job = { ...base, argv: ['a'], env: {}, cwd: 'C:\\', stdin: null, outputLimitMiB: 1 };
    const session = { account: 'Agent', since: '134116992000000000' };
    const launch = { launcher: { pid: 0, startedAt: '', bootId: '' }, namespace: null, session };
    mkdirSync(path.join(jobsDir, 'job-1'));
    for (const [name, value] of Object.entries({ 'job.json': job, 'launch.json': launch, 'result.json': {} }))
      writeFileSync(path.join(jobsDir, 'job-1', name), JSON.stringify(value));
  }

  it('ends the account that was asked for, of a job too that never came to be', async () => {
    expect(await stop('User')).toEqual({ report: DEAD, asked: ['User'] });
  });

  it('ends the account of the job where none is named', async () => {
    leaveJob();
    expect(await stop(null)).toEqual({ report: DEAD, asked: ['Agent'] });
  });

  it('says what survived, and is not confirmed by anything else', async () => {
    leaveJob();
    const left = { confirmedDead: false, survivors: 1, left: ['process 5001 agent.exe'] };
    expect((await stop('User', left)).report).toEqual(left);
  });
});
