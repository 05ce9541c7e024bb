import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GradeStage } from '#contracts/grade-stage';

/** A store on loopback that holds one grading's stage, and keeps what is posted to it. */
export interface GradingStore {
  readonly stageUrl: string;
  /** Bodies of the uploads, whole forms. */
  readonly uploads: readonly string[];
  stop(): Promise<void>;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Serves the module and what it grades, each by a URL of its own. */
export async function startGradingStore(
  module: string,
  output: Readonly<Record<string, string>>,
): Promise<GradingStore> {
  const texts = new Map<string, string>();
  const uploads: string[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.method === 'POST') uploads.push(Buffer.concat(parts).toString());
      const text = request.method === 'POST' ? '' : texts.get(request.url ?? '');
      response.writeHead(text === undefined ? 404 : 200).end(text);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const staged = (path: string, text: string): GradeStage['module'] => {
    texts.set(`/${path}`, text);
    return { path, url: `${base}/${path}`, sha256: sha256(text) };
  };
  const stage: GradeStage = {
    version: 1,
    module: staged('task.mjs', module),
    input: {},
    folders: {
      output: Object.entries(output).map(([path, text]) => staged(path, text)),
      reference: [],
      input: [],
    },
    upload: { url: `${base}/upload`, fields: {}, keyPrefix: 'grades/g/' },
    rawKey: 'grades/g/raw.json',
    memoryMiB: 256,
  };
  texts.set('/stage.json', JSON.stringify(stage));
  return {
    stageUrl: `${base}/stage.json`,
    uploads,
    stop: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}
