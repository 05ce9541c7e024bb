import { GetConsoleOutputCommand, GetConsoleScreenshotCommand, type EC2Client } from '@aws-sdk/client-ec2';
import type { BootEvidence } from '#ports/sandbox-provider';

/** What a machine shows without its network. What cannot be had is null: it is asked of machines that are in trouble. */
export async function bootEvidenceOf(client: EC2Client, InstanceId: string): Promise<BootEvidence> {
  // Only newer hypervisors tell the latest output at any time.
  const output =
    (await orNull(() => client.send(new GetConsoleOutputCommand({ InstanceId, Latest: true })))) ??
    (await orNull(() => client.send(new GetConsoleOutputCommand({ InstanceId }))));
  const shot = await orNull(() => client.send(new GetConsoleScreenshotCommand({ InstanceId, WakeUp: true })));
  return { consoleOutput: textOf(output?.Output), screenshot: bytesOf(shot?.ImageData) };
}

async function orNull<T>(call: () => Promise<T>): Promise<T | null> {
  return await call().catch(() => null);
}

function textOf(base64: string | undefined): string | null {
  const bytes = bytesOf(base64);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

function bytesOf(base64: string | undefined): Uint8Array | null {
  return base64 === undefined || base64 === '' ? null : new Uint8Array(Buffer.from(base64, 'base64'));
}
