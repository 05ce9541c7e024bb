import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProcessTable } from '#guest/process-table';
import {
  closeSpool,
  launchInSession,
  SESSION_LOST,
  type SessionCommand,
  type SessionPlace,
} from '#guest/windows-console';
import { launchAsAccount } from '#guest/windows-launch';
import { serveSession } from '#guest/windows-session';
import {
  fileTimeOf,
  pipeNameOf,
  readSessionNote,
  readSpoolRequest,
  requestIdOf,
  sessionEnvironment,
  startedSince,
  writeSessionNote,
  writeSpoolRequest,
} from '#guest/windows-session-protocol';

const COMMAND: SessionCommand = { argv: [process.execPath, '-e', ''], env: {}, cwd: os.tmpdir(), input: null };

const script = (code: string): SessionCommand => ({ ...COMMAND, argv: [process.execPath, '-e', code] });

describe('row 17: a job of the agent runs in the console session, and the session decides nothing', () => {
  let folder: string;
  let place: SessionPlace;
  let session: AbortController;
  let serving: Promise<void>;

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-spool-'));
    place = { spoolDir: folder, pipePath: (name) => path.join(folder, name), takeLimitSeconds: 20 };
    session = new AbortController();
    serving = serveSession(place, session.signal);
  });

  afterEach(async () => {
    session.abort();
    await serving;
    rmSync(folder, { recursive: true, force: true });
  });

  it('runs the command there with its input, and brings its output and exit code back', async () => {
    const input = path.join(folder, 'input');
    writeFileSync(input, 'héllo\n');
    const launched = await launchInSession(
      {
        ...script(
          `process.stdin.on('data', (d) => process.stdout.write('got ' + d)).on('end', () => { console.error(process.env.WHO, process.cwd()); process.exit(7); })`,
        ),
        env: { WHO: 'agent' },
        cwd: folder,
        input: openSync(input, 'r'),
      },
      place,
    );
    expect(launched.claimedPid).toBeGreaterThan(4);
    expect(await Promise.all([text(launched.stdout), text(launched.stderr), launched.ended])).toEqual([
      'got héllo\n',
      `agent ${folder}\n`,
      { exitCode: 7, signal: null },
    ]);
  });

  it('leaves nothing in the spool, whose files only the runner writes', async () => {
    const launched = await launchInSession(script('setTimeout(() => {}, 300)'), place);
    expect(readdirSync(folder).filter((name) => name.endsWith('.json'))).toEqual([]);
    await launched.ended;
    expect(readdirSync(folder)).toEqual([]);
  });

  it('runs several at once, each with its own output', async () => {
    const all = await Promise.all(
      [1, 2, 3].map(async (number) => {
        const launched = await launchInSession(script(`console.log(${number}); process.exit(${number})`), place);
        return [await text(launched.stdout), (await launched.ended).exitCode];
      }),
    );
    expect(all).toEqual([
      ['1\n', 1],
      ['2\n', 2],
      ['3\n', 3],
    ]);
  });

  it('loses no output of a command that says much and ends at once', async () => {
    const launched = await launchInSession(script(`process.stdout.write('x'.repeat(3_000_000))`), place);
    expect((await text(launched.stdout)).length).toBe(3_000_000);
  });

  it('says why a command cannot be started', async () => {
    const missing = { ...COMMAND, argv: [path.join(folder, 'no-such-program')] };
    await expect(launchInSession(missing, place)).rejects.toThrow(/no-such-program cannot be started/);
  });

  it('ends the command when the runner hangs up', async () => {
    const mark = path.join(folder, 'mark');
    const launched = await launchInSession(
      script(`require('fs').writeFileSync(${JSON.stringify(mark)}, String(process.pid)); setInterval(() => {}, 1000)`),
      place,
    );
    while (!existsSync(mark)) await sleep(20);
    const pid = Number(readFileSync(mark, 'utf8'));
    launched.hangUp();
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
    expect(await launched.ended).toEqual({ exitCode: null, signal: SESSION_LOST });
  });

  it('believes a process id only for a process of the account, and hunts what the account began since', async () => {
    const table = (pids: readonly number[]) => ({
      ofAccount: () => pids.map((pid) => ({ pid, startedAt: '1' })),
      identityOf: (pid: number) => ({ pid, startedAt: '1', bootId: '' }),
    });
    const request = { ...script('setTimeout(() => process.exit(0), 200)'), stdio: ['ignore', 'pipe', 'pipe'] } as const;
    const { note, ended } = await launchAsAccount(request, 'User', table([]), place);
    expect(note.launcher).toEqual({ pid: 0, startedAt: '', bootId: '' });
    expect(note.session).toEqual({ account: 'User', since: expect.stringMatching(/^\d{18}$/) as string });
    expect(BigInt(note.session?.since ?? 0)).toBeLessThanOrEqual(BigInt(fileTimeOf(Date.now())));
    expect(await ended).toEqual({ exitCode: 0, signal: null });
    const own = new ProcessTable();
    const everybody = { ofAccount: () => own.rows(), identityOf: (pid: number) => own.identityOf(pid) };
    const believed = await launchAsAccount(request, 'User', everybody, place);
    expect(believed.note.launcher.pid).toBeGreaterThan(4);
    await believed.ended;
  });

  it('gives a stream for standard input to who wants one', async () => {
    const echo = { ...script(`process.stdin.pipe(process.stdout)`), stdio: ['pipe', 'pipe', 'pipe'] } as const;
    const launched = await launchAsAccount(echo, 'User', new ProcessTable(), place);
    launched.stdin?.end('one line\n');
    expect(await text(launched.stdout)).toBe('one line\n');
  });

  it('gives up when nobody is logged on', async () => {
    session.abort();
    await serving;
    await expect(launchInSession(COMMAND, { ...place, takeLimitSeconds: 0.3 })).rejects.toThrow(
      'no console session took the job within 0.3 s',
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('starts nothing once the account has been ended, and says so at once', async () => {
    closeSpool(place);
    await expect(launchInSession(COMMAND, place)).rejects.toThrow(/was ended with the agent/);
  });

  it('takes a session that dies as the end of the command, with no exit code that it could have said', async () => {
    session.abort();
    await serving;
    const launching = launchInSession(COMMAND, place);
    const requestId = await spooledId(folder);
    const sockets = ['control', 'stdout', 'stderr'].map((stream) =>
      connect(place.pipePath(pipeNameOf(requestId, stream as 'control'))),
    );
    sockets[0]?.write('no json\n{"kind":"exited","exitCode":"0"}\n{"kind":"started","pid":4}\n');
    sockets[0]?.write(writeSessionNote({ kind: 'started', pid: 4711 }));
    const launched = await launching;
    expect(launched.claimedPid).toBe(4711);
    for (const socket of sockets) socket.destroy();
    expect(await launched.ended).toEqual({ exitCode: null, signal: SESSION_LOST });
  });
});

async function spooledId(folder: string): Promise<string> {
  for (;;) {
    const id = readdirSync(folder).flatMap((name) => requestIdOf(name) ?? [])[0];
    if (id !== undefined) return id;
    await sleep(20);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('what runner and session tell each other', () => {
  const requests = fc.record({
    requestId: fc.stringMatching(/^[0-9a-f]{32}$/),
    argv: fc.array(fc.string(), { minLength: 1 }),
    env: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
    cwd: fc.string(),
    hasInput: fc.boolean(),
  });

  it('is read as it was written', () => {
    fc.assert(
      fc.property(requests, (request) => {
        expect(readSpoolRequest(writeSpoolRequest(request))).toEqual(request);
      }),
    );
    const started = { kind: 'started', pid: 812 } as const;
    expect(readSessionNote(writeSessionNote(started).trim())).toEqual(started);
  });

  it.each([
    ['another version', { version: 2 }],
    ['an id that could name another file', { requestId: '../../key' }],
    ['no program', { argv: [] }],
    ['words that are none', { argv: [1] }],
    ['no environment', { env: null }],
  ])('is refused with %s', (_, change) => {
    const good = { version: 1, requestId: 'a'.repeat(32), argv: ['a'], env: {}, cwd: '/', hasInput: false };
    expect(() => readSpoolRequest(JSON.stringify({ ...good, ...change }))).toThrow(TypeError);
  });

  it.each([
    '',
    'null',
    '[]',
    '{"kind":"started","pid":0}',
    '{"kind":"started","pid":4}',
    '{"kind":"started","pid":1.5}',
    '{"kind":"exited"}',
  ])('is no note: %s', (line) => {
    expect(readSessionNote(line)).toBeNull();
  });

  it('never throws for what an agent writes', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (line) => void readSessionNote(line)));
  });

  it('keeps what Windows needs of the session, and lets the job say it otherwise in any case', () => {
    const own = { SystemRoot: 'C:\\Windows', Path: 'C:\\own', TEMP: 'C:\\t', SECRET: 'x' };
    expect(sessionEnvironment(own, { PATH: 'C:\\job', temp: 'D:\\t' })).toEqual({
      SystemRoot: 'C:\\Windows',
      PATH: 'C:\\job',
      temp: 'D:\\t',
    });
  });
});

describe('what a job in a session has left', () => {
  it('is every process of the account that began since, by the clock of Windows', () => {
    // 2026-01-01T00:00:00Z
    const since = fileTimeOf(1_767_225_600_000);
    expect(since).toBe('134116992000000000');
    const rows = [
      { pid: 1, startedAt: '134116991999999999' },
      { pid: 2, startedAt: '134116992000000000' },
      { pid: 3, startedAt: '134116995000000000' },
      { pid: 4, startedAt: '' },
    ];
    expect(startedSince(rows, since).map(({ pid }) => pid)).toEqual([2, 3]);
  });
});
