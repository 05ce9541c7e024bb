import { describe, expect, it } from 'vitest';
import { decodePng } from '#adapters/png-pixels';
import { guiEventLine } from '#core/cua/gui-event';
import { FilmSchema } from '#core/film-strip';
import { GUI_EVENT_LIMITS } from '#core/gui-event';
import { objectKeys } from '#core/keys';
import type { ContentPart, TrajectoryStep } from '#core/trajectory-types';
import { RECORD_CHECKS } from '#contracts/schema-files';
import type { RpcResult } from '#contracts/guest';
import type { SandboxState } from '#ports/sandbox-provider';
import { ATTEMPT, runSteps, runTo } from '#test/builders/attempt-run';
import { addToOriginLog } from '#test/builders/collected-work';
import { plainPng } from '#test/builders/pictures';
import { World } from '#test/builders/world';

const RED = plainPng(400, 300, [255, 0, 0]);
const GREEN = plainPng(40, 30, [0, 255, 0]);
const BLUE = plainPng(8, 6, [0, 0, 255]);

const file = (path: string): ContentPart => ({ type: 'image', source: { media_type: 'image/png', path } });
const inline = (bytes: Buffer): ContentPart => ({
  type: 'image',
  source: { media_type: 'image/png', base64: bytes.toString('base64') },
});
const step = (...content: readonly ContentPart[]): TrajectoryStep => ({
  source: 'agent',
  tool_calls: [{ tool_call_id: 'a', function_name: 'screenshot', arguments: {} }],
  observation: { results: [{ source_call_id: 'a', content }] },
});

/** Goes through an attempt whose agent's log shows these steps, with a desktop that answers like this. */
async function recorded(
  steps: readonly unknown[],
  files: Parameters<typeof addToOriginLog>[2] = [],
  answer?: () => RpcResult,
) {
  const world = new World();
  world.modules.behave['parse'] = () => ({ value: { steps } });
  await runTo(world, 'provision');
  if (answer !== undefined) {
    const { sandbox } = await world.attempt(ATTEMPT);
    await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, desktop: DESKTOP } });
    world.guest.answer = ({ command }) => (command === 'screenshot' ? answer() : { success: true });
  }
  await runSteps(world, 'await', 'collect');
  await addToOriginLog(world, ATTEMPT, files);
  await runSteps(world, 'release', 'record');
  const attempt = await world.attempt(ATTEMPT);
  const runDir = String(attempt.runDir);
  const at = (path: string): Buffer | undefined => world.runTree.files.get(`${runDir}/${path}`);
  const record = world.runTree.json(`${runDir}/record.json`) ?? {};
  expect(RECORD_CHECKS.record(record)).toEqual([]);
  const trajectory = world.runTree.json(`${runDir}/trajectory.json`) ?? {};
  expect(RECORD_CHECKS.trajectory(trajectory)).toEqual([]);
  return { world, attempt, runDir, at, record, trajectory };
}

const DESKTOP = {
  serverUrl: 'http://127.0.0.1:5000',
  endpoint: { url: 'http://127.0.0.1:5000', socketPath: null },
  env: { DISPLAY: ':1' },
  bridge: null,
};

describe('pictures of a trajectory', () => {
  it('are files in its order, whether they came inside it or by path, and are hashed in the record', async () => {
    const run = await recorded(
      [step(file('shots/b.png')), step(inline(GREEN)), step(file('./shots//a.png'), file('shots/b.png'))],
      [
        { path: 'shots/a.png', content: BLUE },
        { path: 'shots/b.png', content: RED },
      ],
    );
    expect(run.at('screenshots/0000.png')).toEqual(RED);
    expect(run.at('screenshots/0001.png')).toEqual(GREEN);
    expect(run.at('screenshots/0002.png')).toEqual(BLUE);
    expect(run.at('screenshots/0003.png')).toBeUndefined();
    const text = JSON.stringify(run.trajectory);
    expect(text.match(/screenshots\/\d+\.png/gu)).toEqual(
      ['0000', '0001', '0002', '0000'].map((number) => `screenshots/${number}.png`),
    );
    expect(text).not.toContain(GREEN.toString('base64'));
    expect(run.record['files']).toContainEqual(
      expect.objectContaining({ path: 'screenshots/0002.png', sizeBytes: BLUE.length }),
    );
    expect(run.record['screen']).toEqual({ screenshots: 3, final: null, guiEvents: null });
    expect(run.attempt.screen).toMatchObject({ screenshots: 3, hasFinal: false, guiEvents: null });
    expect(run.world.runTree.eventTypes(run.runDir)).toContain('screenshots_persisted');
  });

  it('have the kind their bytes have, not the one the agent says', async () => {
    const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0]);
    const run = await recorded([step(file('a.png'))], [{ path: 'a.png', content: jpeg }]);
    expect(run.at('screenshots/0000.jpg')).toEqual(jpeg);
    expect(JSON.stringify(run.trajectory)).toContain('"media_type":"image/jpeg"');
  });

  it.each([
    ['a link', { path: 'x.png', entry: { kind: 'link', target: '/etc/shadow' } }],
    ['a device', { path: 'x.png', entry: { kind: 'other', skipped: 'not-regular' } }],
    [
      'a file that was too large to collect',
      { path: 'x.png', entry: { sizeBytes: 5 * 2 ** 30, skipped: 'too-large' } },
    ],
    ['a file that is no picture', { path: 'x.png', content: Buffer.from('<svg onload="alert(1)"></svg>') }],
    ['an empty file', { path: 'x.png', content: Buffer.alloc(0) }],
    ['a file that is not there', { path: 'other.png', content: RED }],
  ] as const)('are not kept when the path is that of %s', async (_, entry) => {
    const run = await recorded([step(file('x.png')), step(inline(BLUE))], [entry]);
    expect(run.at('screenshots/0000.png')).toEqual(BLUE);
    expect(run.attempt.screen).toMatchObject({ screenshots: 1 });
    expect(JSON.stringify(run.trajectory)).toContain('[image not kept]');
    expect(JSON.stringify(run.trajectory['extra'])).toMatch(/x\.png/u);
  });

  it.each([
    '../output/answer.png',
    '/etc/passwd',
    'a/../../a.png',
    '..',
    '',
    '/',
    '../../../grades/x/raw.json',
    'a\u0000.png',
  ])('never come from outside the work folder: %j', async (path) => {
    const run = await recorded([step(file(path))], [{ path: 'a.png', content: RED }]);
    expect(run.record['screen']).toBeUndefined();
    expect(run.attempt.screen).toBeNull();
    expect([...run.world.runTree.files.keys()].filter((name) => name.includes('screenshots/'))).toEqual([]);
  });

  it('lose the trajectory, not the record, when the parser returns nonsense', async () => {
    const run = await recorded([{ source: 'agent', observation: { results: [{ content: 7 }] } }]);
    expect(JSON.stringify(run.trajectory)).toMatch(/could not be parsed \(returned\)/u);
    expect(run.record['ledgerClass']).toBe('scored');
  });
});

describe('the screen when the agent had ended', () => {
  const shows = (bytes: Buffer): RpcResult => ({ success: true, image_data: bytes.toString('base64') });

  it('is asked for before everything of the agent is stopped, and kept beside the pictures of steps', async () => {
    const run = await recorded([step(inline(RED))], [], () => shows(GREEN));
    expect(run.at('screenshots/final.png')).toEqual(GREEN);
    expect(run.record['screen']).toMatchObject({
      screenshots: 1,
      final: { path: 'screenshots/final.png', problem: null },
    });
    const acts = run.world.guest.acts.map((act) => act.split(' ')[0]);
    expect(acts.lastIndexOf('call')).toBeLessThan(acts.indexOf('stop'));
    expect(run.world.guest.calls.at(-1)).toEqual({ command: 'screenshot', params: {} });
    expect(run.attempt.screen).toMatchObject({ screenshots: 1, hasFinal: true });
  });

  it.each([
    ['an error', () => ({ success: false, error: 'X is gone' }) as const, /X is gone/u],
    ['no picture', () => ({ success: true }) as const, /no image_data/u],
    ['no PNG', () => shows(Buffer.from('GIF89a..')), /no PNG/u],
    ['no base64', () => ({ success: true, image_data: '!!!' }) as const, /no PNG/u],
    ['forty megabytes', () => ({ success: true, image_data: 'A'.repeat(45_000_000) }) as const, /too many to keep/u],
    [
      'nothing',
      () => {
        throw new Error('socket hang up');
      },
      /cannot be asked: Error: socket hang up/u,
    ],
  ])('is noted as missing, and nobody is to blame, when the desktop gives %s', async (_, answer, problem) => {
    const run = await recorded([], [], answer);
    expect(run.record['screen']).toMatchObject({
      final: { path: null, problem: expect.stringMatching(problem) as string },
    });
    expect(run.record['ledgerClass']).toBe('scored');
    expect(run.world.runTree.eventTypes(run.runDir)).toContain('final_screenshot_failed');
    expect(run.at('screenshots/final.png')).toBeUndefined();
  });

  it.each<[string, SandboxState]>([
    ['gone', { state: 'gone', evidence: null }],
    ['stopped', { state: 'stopped' }],
  ])('is not kept of a machine that is %s: another may have its address', async (state, seen) => {
    const world = new World();
    await runTo(world, 'provision');
    const { sandbox } = await world.attempt(ATTEMPT);
    await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, desktop: DESKTOP } });
    await runSteps(world, 'await', 'run');
    world.guest.answer = () => {
      world.machines.states.set(String(sandbox?.['sandboxId']), seen);
      return shows(BLUE);
    };
    await runSteps(world, 'collect', 'collect');
    const final = { bucket: 'artifacts', key: objectKeys.finalScreenshot(ATTEMPT) } as const;
    expect(await world.artifacts.head(final)).toBeUndefined();
    const note = await world.artifacts.get({ bucket: 'artifacts', key: objectKeys.finalScreen(ATTEMPT) });
    expect(JSON.parse(new TextDecoder().decode(note))).toMatchObject({
      problem: expect.stringContaining(`is ${state}`) as string,
    });
  });

  it('stays what the first look saw when the stage is repeated', async () => {
    let looks = 0;
    const world = new World();
    await runTo(world, 'provision');
    const { sandbox } = await world.attempt(ATTEMPT);
    await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, desktop: DESKTOP } });
    await runSteps(world, 'await', 'run');
    world.guest.answer = () => shows(looks++ === 0 ? RED : BLUE);
    await runSteps(world, 'collect', 'collect');
    await runSteps(world, 'collect', 'collect');
    expect(looks).toBe(1);
    const key = objectKeys.finalScreenshot(ATTEMPT);
    expect(Buffer.from(await world.artifacts.get({ bucket: 'artifacts', key }))).toEqual(RED);
  });

  it('is not asked for where there is no desktop', async () => {
    const run = await recorded([]);
    expect(run.world.guest.calls.filter(({ command }) => command === 'screenshot')).toEqual([]);
    expect(run.record['screen']).toBeUndefined();
  });
});

describe('GUI events', () => {
  const click = (at: string): string =>
    guiEventLine({ at, tool: 'click', arguments: { coordinate: [1, 2] }, durationMs: 5, ok: true });

  it('are copied as far as they are events, and counted as what the agent reported', async () => {
    const content = Buffer.from(`${click('2026-01-01T00:00:00.000Z')}rubbish\n${click('1970-01-01T00:00:00.000Z')}`);
    const run = await recorded([], [{ path: 'gui_events.jsonl', content }]);
    const lines = run.at('gui_events.jsonl')?.toString('utf8').trim().split('\n') ?? [];
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { seq: 1, reportedBy: 'agent', tool: 'click', timeIsPlausible: true },
      { seq: 2, reportedBy: 'agent', timeIsPlausible: false },
    ]);
    expect(run.record['screen']).toEqual({
      screenshots: 0,
      final: null,
      guiEvents: { kept: 2, implausibleTimes: 1, failed: 0, malformed: 1, truncated: false },
    });
    expect(run.at('origin_log/scripted/gui_events.jsonl')).toEqual(content);
    expect(run.world.runTree.eventTypes(run.runDir)).toContain('gui_events_persisted');
    expect(run.attempt.screen).toMatchObject({ guiEvents: 2 });
  });

  it('are read no further than there is a limit', async () => {
    const content = Buffer.alloc(GUI_EVENT_LIMITS.bytes + 10, `${'x'.repeat(1023)}\n`);
    const run = await recorded([], [{ path: 'gui_events.jsonl', content }]);
    expect(run.record['screen']).toMatchObject({ guiEvents: { kept: 0, malformed: 16_384, truncated: true } });
    expect(run.at('gui_events.jsonl')).toHaveLength(0);
  });

  it('are none when the file is a link, and an empty file is one without events', async () => {
    const link = { path: 'gui_events.jsonl', entry: { kind: 'link', target: '/dev/zero' } } as const;
    expect((await recorded([], [link])).record['screen']).toBeUndefined();
    const empty = await recorded([], [{ path: 'gui_events.jsonl', content: Buffer.alloc(0) }]);
    expect(empty.record['screen']).toMatchObject({ guiEvents: { kept: 0, truncated: false } });
  });
});

describe('the film that is left for the report', () => {
  it('has small pictures of a few steps and of the final screen', async () => {
    const steps = Array.from({ length: 30 }, (_, n) => step(inline(plainPng(16 + n, 16, [n, 0, 0]))));
    const run = await recorded(steps, [], () => ({ success: true, image_data: RED.toString('base64') }));
    const bytes = await run.world.artifacts.get({ bucket: 'artifacts', key: objectKeys.film(ATTEMPT) });
    const { frames } = FilmSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
    expect(frames.map(({ label }) => label)).toEqual([
      'step 2: screenshot',
      'step 9: screenshot',
      'step 17: screenshot',
      'step 24: screenshot',
      'step 31: screenshot',
      'when the agent had ended',
    ]);
    expect(frames.at(-1)).toMatchObject({ path: 'screenshots/final.png', thumbnail: { width: 240, height: 180 } });
    const pixels = await decodePng(Buffer.from(frames.at(-1)?.thumbnail?.pngBase64 ?? '', 'base64'));
    expect(pixels?.rgb.slice(0, 3)).toEqual(Uint8Array.of(255, 0, 0));
    expect(run.attempt.screen?.filmBytes).toBeGreaterThan(100);
  });

  it('links to a picture that cannot be made small', async () => {
    const broken = Buffer.concat([RED.subarray(0, 60), Buffer.alloc(20)]);
    const run = await recorded([step(inline(broken))]);
    const bytes = await run.world.artifacts.get({ bucket: 'artifacts', key: objectKeys.film(ATTEMPT) });
    expect(JSON.parse(Buffer.from(bytes).toString('utf8'))).toEqual({
      frames: [{ path: 'screenshots/0000.png', label: 'step 2: screenshot', thumbnail: null }],
    });
    expect(run.attempt.screen?.filmBytes).toBe(0);
  });
});
