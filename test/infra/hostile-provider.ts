import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, createServer as createProxy, type Server as NetServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { openServedArtifacts } from '#local/stores/served-artifacts';
import { isAllowed, type Statement } from './iam-evaluator.ts';

/**
 * A program: what a provider answers sandboxes, in its own network namespace. The metadata service of version 2, the services
 * that a role's credentials are for, and where it is asked for a store with an object of the sandbox and one of another. Once
 * it listens it prints a link for the first, or `up`.
 * Argument: JSON of `ProviderSettings`.
 */
export interface ProviderSettings {
  readonly metadataAddress: string;
  readonly address: string;
  readonly port: number;
  /** Of the machine's role. */
  readonly statements: readonly Statement[];
  /** Addresses to which objects answer without a name, metadata without a session, and services whatever the role. */
  readonly openTo: readonly string[];
  /** Where a store keeps its objects, and the keys of two. */
  readonly objects: ObjectsOfTwo | null;
  /** Answers as AWS's own hosts besides. */
  readonly hosts?: ProviderHosts;
}

export interface ProviderHosts {
  /** Paths of the certificate for their names, and of its key. */
  readonly certificate: string;
  readonly key: string;
  /** Whoever signs links for objects. */
  readonly signer: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

interface ObjectsOfTwo {
  readonly folder: string;
  readonly ownKey: string;
  readonly otherKey: string;
}

const CREDENTIALS = {
  AccessKeyId: 'ASIAHOSTILEGUEST',
  SecretAccessKey: 'the-secret-of-the-role',
  Token: 'session-of-the-role',
};
const SESSION = 'metadata-session';

type Answer = readonly [status: number, body: string];

function metadata({ method, url = '/', headers }: IncomingMessage, isOpen: boolean): Answer {
  if (method === 'PUT' && url === '/latest/api/token') return [200, SESSION];
  if (!isOpen && headers['x-aws-ec2-metadata-token'] !== SESSION) return [401, 'no session'];
  const roles = '/latest/meta-data/iam/security-credentials/';
  if (url === roles) return [200, 'sandbox-role'];
  if (url === `${roles}sandbox-role`) return [200, JSON.stringify(CREDENTIALS)];
  return [url === '/latest/meta-data/' ? 200 : 404, 'iam/'];
}

const hex = (data: string): string => createHash('sha256').update(data).digest('hex');
const mac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();

/** Computes the signature anew, as AWS does, over what has arrived. */
function isSignedRight(request: IncomingMessage, body: string): boolean {
  const given =
    /Credential=([^/]+)\/(\d+)\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/u.exec(
      request.headers.authorization ?? '',
    );
  if (given === null) return false;
  const [, keyId, day = '', region = '', service = '', names = '', signature] = given;
  const asked = new URL(request.url ?? '/', 'http://provider');
  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name])}\n`);
  const canonical = [request.method, asked.pathname, asked.search.slice(1), headers.join(''), names, hex(body)];
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, hex(canonical.join('\n'))].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(mac, `AWS4${CREDENTIALS.SecretAccessKey}`);
  return (
    keyId === CREDENTIALS.AccessKeyId &&
    request.headers['x-amz-security-token'] === CREDENTIALS.Token &&
    mac(key, toSign).toString('hex') === signature
  );
}

/** Whether a link for an object is the one that was signed, and still holds. */
function isLinkRight({ method, url = '', headers }: IncomingMessage, { signer }: ProviderHosts): boolean {
  const [path = '', query = ''] = url.split('?');
  const given = new URLSearchParams(query);
  const date = given.get('X-Amz-Date') ?? '';
  const scope = (given.get('X-Amz-Credential') ?? '').split('/');
  const [keyId, day = '', region = '', service = ''] = scope;
  const names = given.get('X-Amz-SignedHeaders') ?? '';
  const signedQuery = query.split('&').filter((each) => !each.startsWith('X-Amz-Signature='));
  const list = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const canonical = [method, path, signedQuery.toSorted().join('&'), list.join(''), names, 'UNSIGNED-PAYLOAD'];
  const toSign = ['AWS4-HMAC-SHA256', date, scope.slice(1).join('/'), hex(canonical.join('\n'))].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(mac, `AWS4${signer.secretAccessKey}`);
  const signedAt = date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/u, '$1-$2-$3:$4:$5');
  return (
    keyId === signer.accessKeyId &&
    Date.now() < Date.parse(signedAt) + Number(given.get('X-Amz-Expires')) * 1000 &&
    mac(key, toSign).toString('hex') === given.get('X-Amz-Signature')
  );
}

/** The action that a request is, as policies name it. */
function actionOf(service: string, request: IncomingMessage, body: string): string {
  const target = request.headers['x-amz-target'];
  if (typeof target === 'string') return `${service}:${target.replace(/^.*\./u, '')}`;
  if (service === 's3') return request.url?.includes('list-type') === true ? 's3:ListBucket' : 's3:GetObject';
  return `${service}:${new URLSearchParams(body).get('Action') ?? ''}`;
}

/** Of the first part of the path, or of the name that AWS has for it. */
function serviceOf({ url, headers }: IncomingMessage): string {
  const named = /(?:^|\.)([a-z0-9]+)\.[a-z0-9-]+\.amazonaws\.com$/u.exec(headers.host ?? '');
  return (named ?? /^\/([a-z0-9]+)\//u.exec(url ?? ''))?.[1] ?? '';
}

async function services(request: IncomingMessage, { statements, hosts }: ProviderSettings): Promise<Answer> {
  const isOpen = isOpenTo(request);
  const body = await text(request);
  const service = serviceOf(request);
  if (request.headers.authorization === undefined) {
    if (isOpen) return [200, 'here you are'];
    if (hosts === undefined || request.url?.includes('X-Amz-Signature=') !== true)
      return [403, 'AccessDenied: anonymous'];
    return isLinkRight(request, hosts) ? [200, 'its own'] : [403, 'SignatureDoesNotMatch'];
  }
  if (!isSignedRight(request, body)) return [403, 'SignatureDoesNotMatch'];
  const action = actionOf(service, request, body);
  if (isOpen || isAllowed(statements, { action, resource: '*' })) return [200, `{"did":"${action}"}`];
  return [400, `AccessDeniedException: not authorized to perform ${action}`];
}

function answering(answerOf: (request: IncomingMessage) => Answer | Promise<Answer>): RequestListener {
  return (request, response) => {
    void Promise.resolve(answerOf(request)).then(([status, body]) => response.writeHead(status).end(body));
  };
}

async function listen(server: NetServer, port: number, address: string): Promise<void> {
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
}

/** The store of the embedded host, which serves on loopback, shown at the provider's address. Answers a link for one object. */
async function serveObjects(objects: ObjectsOfTwo, { address, port }: ProviderSettings): Promise<string> {
  const { store, baseUrl } = await openServedArtifacts(objects.folder, Date.now);
  const own = { bucket: 'artifacts', key: objects.ownKey } as const;
  await store.put(own, 'its own');
  await store.put({ bucket: 'artifacts', key: objects.otherKey }, 'of another');
  const shown = createProxy((socket) => {
    const through = connect(Number(new URL(baseUrl).port), '127.0.0.1');
    for (const side of [socket, through]) side.on('error', () => undefined);
    socket.pipe(through).pipe(socket);
  });
  await listen(shown, port + 1, address);
  const link = await store.signGet(own, 600);
  return link.replace(baseUrl, `http://${address}:${String(port + 1)}`);
}

const settings = JSON.parse(process.argv[2] ?? '') as ProviderSettings;
const isOpenTo = ({ socket }: IncomingMessage): boolean => settings.openTo.includes(socket.remoteAddress ?? '');
const onServices = answering(async (request) => await services(request, settings));
await listen(createServer(answering((request) => metadata(request, isOpenTo(request)))), 80, settings.metadataAddress);
await listen(createServer(onServices), settings.port, settings.address);
if (settings.hosts !== undefined) {
  const [cert, key] = [settings.hosts.certificate, settings.hosts.key].map((file) => readFileSync(file));
  await listen(createSecureServer({ cert, key }, onServices), 443, settings.address);
}
process.stdout.write(`${settings.objects === null ? 'up' : await serveObjects(settings.objects, settings)}\n`);
process.stdin.resume().once('close', () => process.exit(0));
