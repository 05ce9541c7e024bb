import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createSession } from '#adapters/child-session';
import type { Sandbox } from '#ports/sandbox-provider';
import { bundleSolution, removeTemporaryFolders, TASKS } from '#test/builders/task-folder';
import { startTaskService, type RunningService } from '#test/builders/task-service';
import { tier } from '#test/runner/tier';
import { DesktopKit, desktopOf, remainsOf } from '#test/unit/local/sandboxes/desktop-kit';
import { codeOf } from '../../tasks/demo/hello/codes.ts';
import { ORDERS } from '../../tasks/demo/hello/layouts.ts';
import * as hello from '../../tasks/demo/hello/task.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const { orderNumber, variant } = ORDERS[0] ?? expect.fail('there are no orders');
const SECRETS = ['1', '2'].map((digit) => digit.repeat(64));

tier('desktop')('demo/hello without walls', () => {
  const services: RunningService[] = [];
  let kit: DesktopKit;
  let solve: string;

  beforeAll(async () => {
    kit = await DesktopKit.open({ withoutWalls: 'asked for by the test' });
    solve = await bundleSolution('demo/hello');
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await kit.remove();
    await removeTemporaryFolders();
  });

  async function solved(sandbox: Sandbox, secret: string): Promise<string> {
    const root = path.join(sandbox.paths.dataRoot, 'demo/hello', variant);
    const paths = { root, input: `${root}/input`, software: `${root}/software`, output: `${root}/output` };
    mkdirSync(root, { recursive: true });
    cpSync(path.join(TASKS, 'demo/hello/input', variant), paths.input, { recursive: true });
    const session = createSession((command, params) => kit.ask(sandbox, command, params));
    await hello.start({
      variant: { name: variant, prompt: '' },
      variantIndex: 0,
      paths,
      session,
      secret,
      startService: async (name, input) => {
        const service = await startTaskService('demo/hello', name, input);
        services.push(service);
        return service;
      },
    });
    const result = await kit.run(sandbox, {
      as: 'agent',
      kind: 'exec',
      jobId: `hello.1~run.${secret.slice(0, 2)}`,
      wallSeconds: 90,
      argv: [sandbox.paths.node, solve],
      env: { TASK_OUTPUT: paths.output, EXAMHALL_VARIANT: variant, CUA_SERVER_URL: desktopOf(sandbox).serverUrl },
      cwd: root,
      stdin: null,
      outputLimitMiB: 1,
    });
    expect(result).toMatchObject({ end: 'exited', exitCode: 0 });
    return readFileSync(path.join(paths.output, 'code.txt'), 'utf8').trim();
  }

  it('shows each of two desktops its own page, and leaves nothing behind', async () => {
    const sandboxes = await Promise.all(SECRETS.map(() => kit.acquire()));
    const codes = await Promise.all(
      SECRETS.map(async (secret, at) => {
        const sandbox = sandboxes[at];
        return sandbox === undefined ? 'no sandbox' : await solved(sandbox, secret);
      }),
    );
    expect(codes).toEqual(await Promise.all(SECRETS.map((secret) => codeOf(secret, orderNumber))));
    for (const sandbox of sandboxes) await kit.provider.release(sandbox, 'delete');
    expect(remainsOf(kit.root)).toEqual([]);
  });
});
