/**
 * Deploys a stage of its own into a real account, shows what only an account can show, and tears everything down, whatever
 * happened. Never part of `npm test`. Nothing here has been run by its authors: they had no account.
 */
import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { checks, type Deployed } from './checks.ts';
import { endMachines } from './end-machines.ts';
import { liveSettings } from './live-settings.ts';
import { LEFT_ALONE, tearDown } from './tear-down.ts';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const STACKS = ['observability', 'api', 'pipeline', 'network', 'data'] as const;
const DEPLOY_SECONDS = 3600;

const USAGE = `Usage: EXAMHALL_LIVE_ACCOUNT=<12 digits> AWS_REGION=<region> npm run live
       EXAMHALL_LIVE_ACCOUNT=<12 digits> AWS_REGION=<region> npm run live -- --tear-down <stage>

Deploys ExamHall-live<random>-* with the credentials of the usual chain, checks it, and removes it again, also after Ctrl-C.
One that was killed is removed by --tear-down. The account must be named, so that nobody deploys into one by accident; it must be
bootstrapped (npx cdk bootstrap) and have a Lambda concurrency quota of at least 263. Costs a few cents, takes about an hour.`;

async function main(): Promise<number> {
  const region = process.env['AWS_REGION'] ?? process.env['AWS_DEFAULT_REGION'];
  const wanted = process.env['EXAMHALL_LIVE_ACCOUNT'];
  if (region === undefined || wanted === undefined) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  const { Account, Arn } = await new STSClient({ region }).send(new GetCallerIdentityCommand({}));
  if (Account !== wanted || Arn === undefined) {
    process.stderr.write(`the credentials are of account ${String(Account)}; EXAMHALL_LIVE_ACCOUNT names ${wanted}\n`);
    return 2;
  }
  const [option, stage] = process.argv.slice(2);
  if (option === undefined) return await deployAndCheck({ region, accountId: Account, principalArn: Arn });
  if (option === '--tear-down' && stage !== undefined && /^live[0-9a-f]{6}$/u.test(stage))
    return await remove(stage, region);
  process.stderr.write(`${USAGE}\n`);
  return 2;
}

/** Set by a signal; what is under way is let finish, nothing more is begun, and the tearing down happens. */
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isStopped = true;
    process.stderr.write('stopping: everything is torn down first\n');
  });
}

async function deployAndCheck(caller: Pick<Deployed, 'region' | 'accountId' | 'principalArn'>): Promise<number> {
  const stage = `live${randomBytes(3).toString('hex')}`;
  const folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-live-'));
  const settings = path.join(folder, 'settings.json');
  writeFileSync(settings, JSON.stringify(liveSettings(ROOT, { stage, principalArn: caller.principalArn })));
  process.stdout.write(`stage ${stage}\n`);
  let failures = 0;
  try {
    cdk(['deploy', '--all', '--require-approval', 'never', '-c', `settings=${settings}`, '--output', folder]);
    for (const { name, run } of checks) {
      if (isStopped) throw new Error('stopped by a signal');
      const problem = await run({ ...caller, stage, root: ROOT }).then(() => null, String);
      process.stdout.write(`${problem === null ? 'pass' : 'FAIL'}  ${name}${problem === null ? '' : `: ${problem}`}\n`);
      if (problem !== null) failures += 1;
    }
  } catch (error) {
    failures += 1;
    process.stdout.write(`FAIL  deployment: ${String(error)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    failures += await remove(stage, caller.region);
  }
  process.stdout.write(`${String(checks.length)} checks, ${String(failures)} failures or leftovers\n`);
  return failures === 0 ? 0 : 1;
}

/** @returns how many things could not be removed. */
async function remove(stage: string, region: string): Promise<number> {
  const machines = await endMachines(stage, { region });
  const stacks = await tearDown(
    STACKS.map((name) => `ExamHall-${stage}-${name}`),
    { region },
  );
  const left = [...machines, ...stacks];
  for (const { what, why } of left) process.stdout.write(`LEFT  ${what}: ${why}\n`);
  for (const [type, why] of Object.entries(LEFT_ALONE)) process.stdout.write(`kept  ${type}: ${why}\n`);
  return left.length;
}

function cdk(args: readonly string[]): void {
  const program = path.join(ROOT, 'node_modules', 'aws-cdk', 'bin', 'cdk');
  const ended = spawnSync(process.execPath, [program, ...args, '--no-notices'], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
    timeout: DEPLOY_SECONDS * 1000,
  });
  if (ended.status !== 0)
    throw new Error(`cdk ${args.slice(0, 2).join(' ')} ended with ${String(ended.status ?? ended.signal)}`);
}

process.exitCode = await main();
