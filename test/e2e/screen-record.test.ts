import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { decodePng } from '#adapters/png-pixels';
import { verifyRunFolder } from '#local/verify-run-folder';
import { tier } from '#test/runner/tier';
import { endAllCli } from './cli-process.ts';
import { testGround, writeAgent, writeTask, type TestGround } from './experiment-files.ts';
import { later, sweep, type SweptExperiment } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

const TASK = 'e2e/word';

/** Talks to the bridge of its configuration by hand: looks, clicks, looks again, and clicks where there is no screen. */
const LOOKS = `import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createInterface } from 'node:readline';
const { EXAMHALL_MCP_CONFIG: config, EXAMHALL_WORK: work, TASK_INPUT: input, TASK_OUTPUT: output } = process.env;
const { command, args, env } = JSON.parse(fs.readFileSync(config, 'utf8')).mcpServers.cua;
const bridge = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
const waiting = new Map();
createInterface({ input: bridge.stdout }).on('line', (line) => {
  const { id, result, error } = JSON.parse(line);
  waiting.get(id)?.(result ?? error);
});
let last = 0;
const send = (message) => bridge.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const ask = (method, params) => new Promise((resolve) => {
  waiting.set((last += 1), resolve);
  send({ id: last, method, params });
});
const call = (name, given) => ask('tools/call', { name, arguments: given });
await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
send({ method: 'notifications/initialized' });
fs.mkdirSync(work + '/shots');
await call('screenshot', { save_path: work + '/shots/one.png' });
await call('click', { coordinate: [500, 500] });
await call('screenshot', { save_path: work + '/shots/two.png' });
await call('click', { coordinate: [5000, 5000] });
bridge.kill();
fs.mkdirSync(output, { recursive: true });
fs.copyFileSync(input + '/word.txt', output + '/answer.txt');
process.exit(0);
`;

/** Has the server that runs as its own account send itself a signal. */
const hurts = (signal: string): string => `import fs from 'node:fs';
const { CUA_SERVER_URL: url, TASK_INPUT: input, TASK_OUTPUT: output } = process.env;
const command = 'for pid in /proc/[0-9]*; do grep -qa computer_server $pid/cmdline && kill -${signal} \${pid#/proc/}; done';
await fetch(url + '/cmd', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ command: 'run_command', params: { command } }),
  signal: AbortSignal.timeout(2000),
}).then((answer) => answer.text()).catch(() => '');
fs.mkdirSync(output, { recursive: true });
fs.copyFileSync(input + '/word.txt', output + '/answer.txt');
`;

const PARSER = `const shot = (path: string) => ({ type: 'image' as const, source: { media_type: 'image/png', path } });
export function parse() {
  return { steps: ['shots/one.png', 'shots/two.png'].map((path) => ({ source: 'agent' as const, message: [shot(path)] })) };
}
`;

tier('desktop')('the record of an attempt with a screen', () => {
  const made = later<TestGround>();
  const swept = later<SweptExperiment>();
  const recordOf = (agent: string): Record<string, unknown> =>
    JSON.parse(readFileSync(path.join(swept.get().folder(agent, TASK), 'record.json'), 'utf8')) as Record<
      string,
      unknown
    >;
  const eventsOf = (agent: string): unknown[] => {
    const text = readFileSync(path.join(swept.get().folder(agent, TASK), 'gui_events.jsonl'), 'utf8');
    return text
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
  };

  beforeAll(async () => {
    const ground = testGround();
    made.set(ground);
    writeTask(ground, TASK, { snapshot: 'cpu-free-ubuntu-desktop' });
    writeAgent(ground, 'looks', LOOKS);
    ground.write('agents/looks/parser.ts', PARSER);
    writeAgent(ground, 'breaks', hurts('KILL'));
    writeAgent(ground, 'freezes', hurts('STOP'));
    const providers = { 'cpu-free-ubuntu-desktop': 'desktop' };
    swept.set(
      await sweep(ground, { name: 'screens', agents: ['looks', 'breaks', 'freezes'], tasks: [[TASK, [0]]], providers }),
    );
  });
  afterAll(async () => {
    await endAllCli();
    made.get().remove();
  });

  it('has the pictures of its steps and one of the end, all hashed', async () => {
    const folder = swept.get().folder('looks', TASK);
    expect(recordOf('looks')['screen']).toMatchObject({
      screenshots: 2,
      final: { path: 'screenshots/final.png', problem: null },
    });
    for (const name of ['0000.png', '0001.png', 'final.png']) {
      const pixels = await decodePng(readFileSync(path.join(folder, 'screenshots', name)));
      expect(pixels?.width, name).toBeGreaterThanOrEqual(640);
    }
    expect(await verifyRunFolder(folder)).toEqual([]);
    const html = readFileSync(path.join(swept.get().treeRoot, 'report.html'), 'utf8');
    expect(html.match(/<img src="data:image\/png;base64,/gu)).toHaveLength(3);
  });

  it('has the GUI events that the bridge wrote, with the pixels that were clicked', () => {
    expect(eventsOf('looks')).toMatchObject([
      { seq: 1, reportedBy: 'agent', timeIsPlausible: true, tool: 'screenshot', ok: true },
      { seq: 2, tool: 'click', arguments: { coordinate: [500, 500] }, ok: true },
      { seq: 3, tool: 'screenshot' },
      { seq: 4, tool: 'click', ok: false },
    ]);
    expect(recordOf('looks')['screen']).toMatchObject({
      guiEvents: { kept: 4, failed: 1, implausibleTimes: 0, malformed: 0, truncated: false },
    });
  });

  it.each([
    ['breaks', /cannot be asked/u],
    ['freezes', /answered|cannot be asked/u],
  ])('says that there is no last picture where an agent %s its server, and blames nobody', async (agent, problem) => {
    expect(swept.get().unit(agent, TASK)).toMatchObject({ class: 'scored', score: 1, attempts: 1 });
    const { screen, verdict } = recordOf(agent);
    expect(screen).toMatchObject({
      screenshots: 0,
      final: { path: null, problem: expect.stringMatching(problem) as string },
      guiEvents: null,
    });
    expect(verdict).toMatchObject({ signatureId: 'graded' });
    const folder = swept.get().folder(agent, TASK);
    expect(existsSync(path.join(folder, 'screenshots'))).toBe(false);
    expect(await verifyRunFolder(folder)).toEqual([]);
  });
});
