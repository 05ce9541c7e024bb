import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { EC2Client } from '@aws-sdk/client-ec2';
import { SSMClient } from '@aws-sdk/client-ssm';
import type { PreflightFacts } from '#core/preflight-check';
import { CONNECT_PROGRAM } from '#core/preflight-programs';
import { clientOptions, openAwsSession } from '#cli/remote/aws-session';
import type { HostOptions } from '#cli/remote/host-options';
import { openClient } from '#cli/remote/open-client';
import { outputsOfStage } from '#cli/remote/stage-outputs';
import { createAdoptionCloud } from './adoption-cloud.ts';
import { usableSandbox } from './live-sandbox.ts';
import { createMachineShell } from './machine-shell.ts';
import { privilegeOf, runPreflight, type CheckOutcome } from './preflight.ts';
import { preflightFacts } from './preflight-facts.ts';
import { sandboxSettingsOf } from './stage-sandboxes.ts';

export interface PreflightOptions extends HostOptions {
  readonly stage: string;
  readonly sandboxId: string;
  /** File that the record is written to. */
  readonly record: string;
  /** End the machine afterwards. */
  readonly end: boolean;
}

/** All of one preflight: what was tried on which sandbox, and what came of it. */
export interface PreflightRecord {
  readonly version: 1;
  readonly at: string;
  readonly stage: string;
  readonly region: string;
  readonly sandboxId: string;
  readonly attemptId: string | null;
  readonly privilege: PreflightFacts['privilege'];
  readonly unknownFacts: readonly string[];
  readonly checks: readonly CheckOutcome[];
}

/** Tries the list of hostile guests on a kept sandbox of a stage, and writes down what came of it. */
export async function preflightStage(options: PreflightOptions): Promise<PreflightRecord> {
  const session = await openAwsSession(options, process.env);
  const client = await openClient(options);
  const target = await usableSandbox(client, options.sandboxId, 'kept');
  const outputs = await outputsOfStage(options.stage, session);
  const settings = await sandboxSettingsOf(options.stage, session);
  const ec2 = new EC2Client(clientOptions(session));
  const ssm = new SSMClient(clientOptions(session));
  const delay = async (seconds: number): Promise<void> => await sleep(seconds * 1000);
  const shell = createMachineShell({ client: ssm, delay });
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  try {
    const privilege = await privilegeOf(target, shell);
    const facts = await preflightFacts({ ...target, privilege, outputs, settings }, { client, ec2 });
    const jobId = `preflight-${randomBytes(4).toString('hex')}`;
    const checks = await runPreflight(target, facts, { shell, connect, tell, jobId });
    const record = recordOf({ checks, facts, sandboxId: target.sandboxId, attemptId: target.sandbox.attemptId });
    await writeFile(options.record, `${JSON.stringify(record, null, 2)}\n`);
    return record;
  } finally {
    if (options.end) {
      const isGone = await createAdoptionCloud(ec2, { delay, pause: delay }).terminate(target.sandboxId);
      tell(`${target.sandboxId} is ${isGone ? 'gone' : 'not seen terminated yet'}`);
    }
    ec2.destroy();
    ssm.destroy();
  }
}

function recordOf(done: {
  readonly checks: readonly CheckOutcome[];
  readonly facts: PreflightFacts;
  readonly sandboxId: string;
  readonly attemptId: string | null;
}): PreflightRecord {
  const { checks, facts, sandboxId, attemptId } = done;
  const unknownFacts = Object.entries(facts).flatMap(([name, value]) =>
    value === null && name !== 'endpoint' ? [name] : [],
  );
  const { stage, region, privilege } = facts;
  const at = new Date().toISOString();
  return { version: 1, at, stage, region, sandboxId, attemptId, privilege, unknownFacts, checks };
}

/** From a process of its own, which is what the program is written for. */
async function connect(host: string, ports: readonly number[]): Promise<string> {
  const args = ['-e', CONNECT_PROGRAM, host, ...ports.map(String)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  return stdout.trim();
}
