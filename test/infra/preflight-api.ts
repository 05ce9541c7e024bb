import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { S3ArtifactStore } from '#adapters/s3-artifact-store';
import { createS3Client } from '#adapters/s3-client';
import type { ApiAnswer } from '#contracts/api-event';
import type { ByteRange } from '#core/object-rules';
import { bodyOf, eventOf, routeOf } from '#local/api-server-event';
import type { ArtifactStore, ObjectInfo, ObjectRef } from '#ports/artifact-store';
import type { Ports } from '#ports/ports';
import { answerQueries } from '#usecases/answer-queries';
import { isSignedRight } from '../unit/cli/remote/sigv4-check.ts';

export interface Signer {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const BUCKETS = { artifacts: 'artifacts' };

/** Objects as they lie in a store of the test, under links as S3 has them. */
class LinkedStore extends S3ArtifactStore {
  readonly #store: ArtifactStore;

  constructor(store: ArtifactStore, region: string, credentials: Signer) {
    super({ client: createS3Client({ region, credentials }), buckets: BUCKETS });
    this.#store = store;
  }

  override async get(ref: ObjectRef, range?: ByteRange): Promise<Uint8Array> {
    return await this.#store.get(ref, range);
  }

  override async head(ref: ObjectRef): Promise<ObjectInfo | undefined> {
    return await this.#store.head(ref);
  }
}

/** A link for an object of the bucket `artifacts`, as S3 has it. */
export async function signLink(region: string, credentials: Signer, key: string): Promise<string> {
  const client = createS3Client({ region, credentials });
  return await new S3ArtifactStore({ client, buckets: BUCKETS }).signGet({ bucket: 'artifacts', key }, 300);
}

export interface ApiOfStage {
  readonly port: number;
  close(): Promise<void>;
}

/** The API's questions on loopback as API Gateway takes them: signed by whoever asks, or refused. */
export async function serveApi(
  ports: Ports,
  { region, caller, signer }: { readonly region: string; readonly caller: Signer; readonly signer: Signer },
): Promise<ApiOfStage> {
  const linked: Ports = { ...ports, artifacts: new LinkedStore(ports.artifacts, region, signer) };
  const server = createServer((request, response) => {
    const answer = async (): Promise<ApiAnswer> => {
      const body = await bodyOf(request, () => undefined);
      if (!isSignedRight(request, body.toString(), { secretKey: caller.secretAccessKey }))
        return {
          statusCode: 403,
          headers: {},
          body: '{"message":"The request signature we calculated does not match"}',
        };
      const principalArn = 'arn:aws:iam::123456789012:user/operator';
      const event = eventOf(request, routeOf(request), { body, principalArn, requestId: 'request-1' });
      return await answerQueries(event, linked);
    };
    void answer().then(
      ({ statusCode, headers, body }) => response.writeHead(statusCode, headers).end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: async () => await closed(server) };
}

async function closed(server: Server): Promise<void> {
  const isOver = once(server, 'close');
  server.closeAllConnections();
  server.close();
  await isOver;
}
