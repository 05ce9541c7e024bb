import { DiskArtifactStore } from './disk-artifact-store.ts';
import { startObjectServer } from './object-server.ts';
import { RequestSigner } from './request-signer.ts';

export interface ServedArtifacts {
  readonly store: DiskArtifactStore;
  readonly baseUrl: string;
  close(): Promise<void>;
}

/** Opens the disk store under `root` and serves its signed URLs on loopback until closed. `now` is in milliseconds. */
export async function openServedArtifacts(root: string, now: () => number): Promise<ServedArtifacts> {
  let baseUrl = '';
  const signer = new RequestSigner(() => baseUrl, now);
  const store = await DiskArtifactStore.open(root, signer);
  const server = await startObjectServer(store, signer);
  baseUrl = server.baseUrl;
  return { store, baseUrl, close: () => server.close() };
}
