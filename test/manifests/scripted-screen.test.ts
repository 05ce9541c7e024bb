import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RecordingSchema } from '#core/recording';
import { encodePng } from '#sdk';
import { folderReader } from '#test/builders/folder-reader';
import { removeTemporaryFolders, REPOSITORY, temporaryFolder } from '#test/builders/task-folder';
import { bundle } from '../../infra/bundler.ts';
import { parseTranscript } from '../../agents/_shared/transcript.ts';
import { Canvas } from '../../tasks/demo/_shared/canvas.ts';

let launch: string;
beforeAll(async () => {
  const entry = path.join(REPOSITORY, 'agents/scripted/launch.ts');
  launch = (await bundle(entry, { outDir: await temporaryFolder(), kind: 'script' })).path;
});
afterAll(removeTemporaryFolders);

const FIELD = '#c55a11';
const PAPER = '#fff2cc';
const empty = new Canvas(200, 100, '#ffffff');
const desk = new Canvas(200, 100, '#ffffff');
desk.paint({ x: 100, y: 20, width: 60, height: 20 }, FIELD, () => true);
const answered = new Canvas(200, 100, '#ffffff');
answered.paint({ x: 10, y: 10, width: 80, height: 60 }, PAPER, () => true);
for (const x of [20, 30, 40]) answered.paint({ x, y: 30, width: 4, height: 12 }, '#000000', () => true);
answered.paint({ x: 120, y: 10, width: 30, height: 30 }, '#d50000', () => true);
answered.paint(
  { x: 120, y: 60, width: 30, height: 30 },
  '#1565c0',
  (across, down) => Math.abs(across - 0.5) <= down / 2,
);

interface Played {
  readonly exitCode: number | null;
  readonly stderr: string;
  readonly calls: readonly unknown[];
  readonly output: string;
  readonly work: string;
}

/** Plays steps against a bridge whose screen shows these pictures one after another. */
async function play(steps: readonly unknown[], screens: readonly Canvas[], hasBridge = true): Promise<Played> {
  const [work, bridge, output] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
  for (const [at, screen] of screens.entries())
    await writeFile(path.join(bridge, `${at}.png`), await encodePng(screen));
  const fonts = { desk: { I: ['#', '#', '#'] } };
  const recording = RecordingSchema.parse({ version: 1, task: 'demo/any', fonts, steps });
  await mkdir(path.join(work, 'agent'));
  await writeFile(path.join(work, 'agent/recording.json'), JSON.stringify(recording));
  const args = [path.join(REPOSITORY, 'test/fakes/screen-bridge.mjs'), bridge];
  const config = path.join(work, 'mcp.json');
  await writeFile(config, JSON.stringify({ mcpServers: { cua: { command: process.execPath, args, env: {} } } }));
  const env = { PATH: process.env['PATH'], TASK_ROOT: work, TASK_OUTPUT: output, EXAMHALL_VARIANT: 'base' };
  const child = spawn(process.execPath, [launch], {
    cwd: work,
    env: { ...env, ...(hasBridge ? { EXAMHALL_MCP_CONFIG: config } : {}) },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 60_000,
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { exitCode, stderr, calls: linesOf(path.join(bridge, 'calls.jsonl')), output, work };
}

function linesOf(file: string): readonly unknown[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const shapes = { square: [1, 1, 1], triangle: [0.17, 0.5, 0.83] };
const colors = { red: '#d50000', blue: '#1565c0' };
const whole = { color: '#ffffff', minWidth: 200 };
const STEPS = [
  { click: { color: FIELD, minWidth: 40 }, note: 'Into the field.' },
  { type: 'QK-1' },
  { readText: { place: { color: PAPER }, ink: '#000000', dot: 4, font: 'desk', length: 3 }, as: 'code' },
  { readShapes: { place: whole, colors, shapes, minWidth: 10, minHeight: 10 }, as: 'seen' },
  { count: { of: 'seen', is: 'square' }, as: 'squares' },
  { beside: { of: 'seen', color: 'red', side: 'below' }, as: 'below' },
  { beside: { of: 'seen', color: 'red', side: 'left' }, as: 'left' },
  { write: 'deep/answer.txt', text: '{{code}} {{squares}} {{below}} {{left}}\n' },
];

describe('a recording on a screen', () => {
  it('waits for what it looks for, acts where it found it, and writes what it saw', async () => {
    const played = await play(STEPS, [empty, desk, empty, answered]);
    expect(played).toMatchObject({ exitCode: 0, stderr: '' });
    expect(readFileSync(path.join(played.output, 'deep/answer.txt'), 'utf8')).toBe('III 1 blue triangle nothing\n');
    const look = ['screenshot', {}];
    const click = ['click', { coordinate: [650, 300], clicks: 1 }];
    expect(played.calls).toEqual([look, look, click, ['type', { text: 'QK-1' }], look, look, look]);
  });

  it('leaves a transcript whose screenshots lie in the working folder, in order', async () => {
    const { work } = await play(STEPS, [desk, answered]);
    const { steps } = await parseTranscript({ originLog: folderReader(work), outcome: 'completed', startedAt: '' });
    const names = steps.map((step) => step.tool_calls?.[0]?.function_name);
    expect(names).toEqual(['screenshot', 'click', 'type', 'screenshot', 'screenshot', 'write']);
    expect(steps[0]).toMatchObject({ message: 'Into the field.' });
    const pictures = steps.flatMap(({ observation }) => {
      const content = observation?.results[0]?.content ?? '';
      return typeof content === 'string' ? [] : content.flatMap(({ source }) => source?.path ?? []);
    });
    expect(pictures).toEqual(['screens/0001.png', 'screens/0004.png', 'screens/0005.png']);
    for (const picture of pictures)
      expect(readFileSync(path.join(work, picture)).subarray(1, 4).toString()).toBe('PNG');
  });

  const never = { waitFor: { color: '#123456' }, timeoutSeconds: 0.1 };
  it.each([
    [never, 'the screen never showed {"color":"#123456"} (looked for 0.1 s)'],
    [{ key: ['any'] }, 'key failed: there is no key "any"'],
    [{ type: 'die' }, 'the MCP server cua is gone: it ended with 3'],
    [{ write: 'a.txt', text: '{{code}}' }, 'no step before this one has found code'],
    [{ count: { of: 'seen', is: 'red' }, as: 'red' }, 'no step before this one has read shapes as seen'],
    [{ run: 'exit 5' }, 'it ended with 5: exit 5'],
  ])('ends at %o and says why', async (step, message) => {
    const { exitCode, stderr, calls } = await play([step, { type: 'never typed' }], [desk]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`step 1 of 2 failed: ${message}`);
    expect(JSON.stringify(calls)).not.toContain('never typed');
  });

  it('is refused in a sandbox without a screen', async () => {
    const { exitCode, stderr } = await play([never], [desk], false);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('EXAMHALL_MCP_CONFIG is not set: this sandbox has no screen');
  });
});

it.each([
  [{ click: { color: 'red' } }, /must be a colour/u],
  [{ write: 'a', text: 'b', run: 'c' }, /Invalid input/u],
  [{ press: 'x' }, /Invalid input/u],
])('a recording with %o is refused', (step, message) => {
  expect(() => RecordingSchema.parse({ version: 1, task: 'demo/any', steps: [step] })).toThrow(message);
});
