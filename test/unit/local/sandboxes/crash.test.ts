import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { withFate } from '#core/teardown';
import type { Sandbox } from '#ports/sandbox-provider';
import { ProcessTable, type ProcessIdentity } from '#guest/process-table';
import { tier } from '#test/runner/tier';
import { livingPidsOf, until } from '#test/unit/guest/guest-kit';
import { ProcessKit } from './process-kit.ts';

interface Doomed {
  readonly root: string;
  readonly sandbox: Sandbox;
  readonly jobId: string;
  readonly batchMark: string;
}

/** Runs a host in its own process and kills it in the middle of its work. */
async function killedHost(walls: 'walls' | 'none'): Promise<Doomed> {
  const program = path.join(import.meta.dirname, 'doomed-host.ts');
  const host = spawn(process.execPath, ['--import', 'tsx', program, walls], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(host.stdout, 'data')) as [Buffer];
  host.kill('SIGKILL');
  await once(host, 'exit');
  return JSON.parse(line.toString()) as Doomed;
}

/** Whether a command line is of the doomed host's job or of its batch, whose command has a number of its own. */
function isOf(doomed: Doomed, commandLine: string): boolean {
  return commandLine.includes(doomed.root) || commandLine.includes(doomed.batchMark);
}

async function cleanUp(doomed: Doomed): Promise<void> {
  const table = new ProcessTable();
  const supervisorFile = path.join(doomed.sandbox.endpoint ?? '', 'jobs', doomed.jobId, 'supervisor.pid');
  const supervisor = JSON.parse(readFileSync(supervisorFile, 'utf8')) as ProcessIdentity;
  expect(table.isAlive(supervisor), 'the supervisor outlives its host').toBe(true);

  const kit = await ProcessKit.open({ root: path.join(doomed.root, 'sandboxes') });
  const { sandboxes } = await kit.provider.list();
  expect(sandboxes).toMatchObject([{ sandboxId: doomed.sandbox.sandboxId, attemptId: 'doomed.1', state: 'ready' }]);
  const report = await kit.provider.release({ sandboxId: doomed.sandbox.sandboxId, resources: [] }, 'delete');
  expect(report).toEqual(expect.arrayContaining([...withFate(doomed.sandbox.resources, 'gone')]));
  expect(report.filter(({ fate }) => fate !== 'gone')).toEqual([]);
  expect(table.isAlive(supervisor)).toBe(false);
  expect(existsSync(doomed.sandbox.endpoint ?? '')).toBe(false);
  await until(() => table.rows().every((row) => !isOf(doomed, commandLineOf(row.pid))));
  expect((await kit.provider.list()).sandboxes).toEqual([]);
  await kit.remove();
  rmSync(doomed.root, { recursive: true });
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const LIMIT_MS = 90_000;

describe('a host that was killed', () => {
  it('leaves what a new one finds and ends', async () => cleanUp(await killedHost('none')), LIMIT_MS);

  tier('isolation')('with namespaces', () => {
    it(
      'leaves nothing of the agent alive',
      async () => {
        const doomed = await killedHost('walls');
        await cleanUp(doomed);
        expect(livingPidsOf(doomed.sandbox.agent?.uid ?? 0)).toEqual([]);
      },
      LIMIT_MS,
    );
  });
});
