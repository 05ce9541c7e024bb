import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { tier } from '#test/runner/tier';
import { endAllCli, REPOSITORY } from './cli-process.ts';
import { testGround } from './experiment-files.ts';
import { later, sweep, type SweptExperiment } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

const BROWSERS = "const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];";
const PATIENCE = '{ polls: 120, pollMilliseconds: 500 }';
const FLAGS = 'const flags = [...FLAGS, `--user-data-dir=${folder}/profile`, url];';
const SERVE = 'server.listen(0';

/** What is changed in a copy of the domain, and what the unit then has to say. */
const TROUBLES: readonly (readonly [domain: string, changes: readonly (readonly [string, string])[], said: RegExp])[] =
  [
    [
      'no-browser',
      [[BROWSERS, "const BROWSERS = ['no-such-browser'];"]],
      /has no browser \(looked for no-such-browser\)/u,
    ],
    ['browser-ends', [[BROWSERS, "const BROWSERS = ['false'];"]], /false ended before it showed .* ended with 1/u],
    [
      'never-opens',
      [
        [BROWSERS, "const BROWSERS = ['sleep'];"],
        [FLAGS, "const flags = ['300'];"],
        [PATIENCE, '{ polls: 3, pollMilliseconds: 500 }'],
      ],
      /sleep did not show http:\/\/127\.0\.0\.1:\d+\/ within 2 s; the screen of 1280x800 shows/u,
    ],
    [
      'service-ends',
      [[SERVE, "throw new Error('no room');\n  server.listen(0"]],
      /service desk is over: it exited with 1; .*no room/su,
    ],
  ];

tier('desktop')('a page that does not come to the screen', () => {
  const ground = testGround();
  const swept = later<SweptExperiment>();

  beforeAll(async () => {
    for (const [domain, changes] of TROUBLES) copyDomain(domain, changes);
    const tasks = TROUBLES.map(([domain]) => [`${domain}/hello`, [0]] as const);
    const providers = { 'cpu-free-ubuntu-desktop': 'desktop' };
    swept.set(await sweep(ground, { name: 'trouble', agents: ['nop'], tasks, providers }));
  });
  afterAll(async () => {
    await endAllCli();
    ground.remove();
  });

  /** A copy of the domain of demos whose shared code is changed, and nothing else. */
  function copyDomain(domain: string, changes: readonly (readonly [string, string])[]): void {
    const folder = path.join(ground.tasks, domain);
    for (const part of ['_shared', 'hello']) {
      cpSync(path.join(REPOSITORY, 'tasks/demo', part), path.join(folder, part), { recursive: true });
    }
    for (const [find, replace] of changes) {
      const name = find === SERVE ? 'services/page-server.ts' : 'browser.ts';
      const file = path.join(folder, '_shared', name);
      const before = readFileSync(file, 'utf8');
      expect(before.split(find)).toHaveLength(2);
      writeFileSync(file, before.replace(find, replace));
    }
  }

  it.each(TROUBLES)('%s is the task’s fault, told with the reason', (domain, _, said) => {
    const task = `${domain}/hello`;
    const record = swept.get().record('nop', task);
    expect(record.error).toMatchObject({ name: 'TaskSetupError', message: expect.stringMatching(said) as string });
    expect(record.verdict).toMatchObject({ blame: 'task', retry: false });
    expect(swept.get().unit('nop', task)).toMatchObject({ class: 'task_fault', score: null });
  });
});
