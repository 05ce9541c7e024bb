import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { startObjectServer, type ObjectServer } from '#local/stores/object-server';
import { RequestSigner } from '#local/stores/request-signer';

const BOUNDARY = 'boundary0123456789';

describe('an upload that is refused and then broken off by its sender', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'object-upload-'));
  const served: { server?: ObjectServer; store?: DiskArtifactStore } = {};
  const signer = new RequestSigner(
    () => served.server?.baseUrl ?? '',
    () => Date.now(),
  );

  beforeAll(async () => {
    served.store = await DiskArtifactStore.open(root, signer);
    served.server = await startObjectServer(served.store, signer);
  });

  afterAll(async () => {
    await served.server?.close();
    rmSync(root, { recursive: true });
  });

  /** Sends the beginning of an upload that is larger than its grant allows, waits, and cuts the connection. */
  async function sendAndCut(maxBytes: number): Promise<void> {
    const grant = await served.store?.signUpload('artifacts', 'a/', 60, maxBytes);
    if (grant === undefined) throw new Error('no grant');
    const part = (name: string, value: string): string =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const fields = Object.entries({ ...grant.fields, key: 'a/b' }).map(([name, value]) => part(name, value));
    const head = `${fields.join('')}--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n`;
    const outgoing = request(grant.url, {
      method: 'POST',
      headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': 40_000_000 },
    });
    outgoing.on('error', () => undefined);
    outgoing.write(head);
    for (let chunk = 0; chunk < 8; chunk += 1) {
      outgoing.write(Buffer.alloc(256 * 1024, 'x'));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
    outgoing.destroy();
    await closed;
  }

  it('leaves the server as it was', async () => {
    const faults: unknown[] = [];
    const note = (error: unknown): void => void faults.push(error);
    process.on('uncaughtException', note);
    try {
      await sendAndCut(1024);
      await sendAndCut(1024 * 1024);
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      process.off('uncaughtException', note);
    }
    expect(faults).toEqual([]);
    await served.store?.put({ bucket: 'artifacts', key: 'a/c' }, 'still here');
    const answer = await fetch((await served.store?.signGet({ bucket: 'artifacts', key: 'a/c' }, 60)) ?? '');
    expect(await answer.text()).toBe('still here');
  });
});
