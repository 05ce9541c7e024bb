import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bundle, REPOSITORY } from '../../../infra/bundler.ts';
import { commandLines } from './command-lines.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'examhall-host-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const isRunning = (marker: string): boolean => commandLines().some((line) => line.includes(marker));

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !isSo(); tries += 1) await pause(100);
}

describe('a host that is killed', () => {
  it.each(['for (;;) {}', 'return new Promise(() => {})'])('leaves no child that does: %s', async (body) => {
    const adapters = path.join(REPOSITORY, 'lambdas/shared/adapters');
    const runner = await bundle(path.join(adapters, 'child-module-runner.ts'), { outDir: folder });
    const entry = await bundle(path.join(adapters, 'child-entry.ts'), { outDir: folder });
    const marker = `orphan_${String(process.pid)}_${String(Date.now())}`;
    const module = path.join(folder, 'module.mjs');
    await writeFile(module, `process.title = '${marker}'; export const evaluate = () => { ${body} };`);
    const limits = { timeoutSeconds: 15, memoryMiB: 128, outputLimitKiB: 16 };
    const call = { modulePath: module, phase: 'evaluate', input: {}, folders: {}, limits };
    const host = path.join(folder, 'host.mjs');
    await writeFile(
      host,
      `import { createChildModuleRunner } from ${JSON.stringify(runner.path)};
       await createChildModuleRunner({ childEntry: ${JSON.stringify(entry.path)} }).run(${JSON.stringify(call)});`,
    );
    const child = spawn(process.execPath, [host], { stdio: 'ignore' });
    const closed = new Promise((resolve) => child.once('close', resolve));
    await until(() => isRunning(marker));
    const wasRunning = isRunning(marker);
    child.kill('SIGKILL');
    await closed;
    await until(() => !isRunning(marker));
    expect([wasRunning, isRunning(marker)]).toEqual([true, false]);
  });
});
