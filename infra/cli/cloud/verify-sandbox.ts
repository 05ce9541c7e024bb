import { setTimeout as sleep } from 'node:timers/promises';
import { SSMClient } from '@aws-sdk/client-ssm';
import * as z from 'zod';
import { verifyScript } from '#core/preflight-run';
import { clientOptions, openAwsSession } from '#cli/remote/aws-session';
import type { HostOptions } from '#cli/remote/host-options';
import { openClient } from '#cli/remote/open-client';
import { plainText } from '#cli/remote/plain-text';
import { RemoteError } from '#cli/remote/remote-error';
import { usableSandbox, type LiveSandbox } from './live-sandbox.ts';
import { createMachineShell, type MachineShell } from './machine-shell.ts';

const VerifiedSchema = z.object({
  image: z.string(),
  ok: z.boolean(),
  /** `ok` is null for what cannot be seen there. */
  checks: z.array(z.object({ name: z.string(), ok: z.boolean().nullable(), seen: z.string() })).min(1),
});
export type Verified = z.infer<typeof VerifiedSchema>;

const ONLINE_SECONDS = 120;
const VERIFY_SECONDS = 300;

/** What the image's own verify script says on a sandbox of a stage, with the rights of whoever calls. @throws RemoteError */
export async function verifyLiveSandbox(id: string, options: HostOptions): Promise<Verified> {
  const session = await openAwsSession(options, process.env);
  const target = await usableSandbox(await openClient(options), id, 'any');
  const client = new SSMClient(clientOptions(session));
  try {
    const delay = async (seconds: number): Promise<void> => await sleep(seconds * 1000);
    return await verifyOn(target, createMachineShell({ client, delay }));
  } finally {
    client.destroy();
  }
}

/** Runs the script and reads its line. */
export async function verifyOn(
  { sandboxId, os }: Pick<LiveSandbox, 'sandboxId' | 'os'>,
  shell: MachineShell,
): Promise<Verified> {
  await shell.waitOnline(sandboxId, ONLINE_SECONDS);
  const ended = await shell.run(sandboxId, { os, text: verifyScript(os), timeoutSeconds: VERIFY_SECONDS });
  const lines = ended.stdout.split(/\r?\n/u).filter((line) => line.startsWith('{'));
  const parsed = VerifiedSchema.safeParse(jsonOf(lines.at(-1) ?? ''));
  // The script's own word and its exit code have to agree.
  if (parsed.success) return { ...parsed.data, ok: parsed.data.ok && ended.exitCode === 0 };
  throw new RemoteError(
    'host',
    `the verify script of ${sandboxId} ended with exit code ${String(ended.exitCode)} and said nothing of its checks: ${plainText(`${ended.stderr} ${ended.stdout}`.trim(), 500)}`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
