import {
  GUEST_CONTRACT_VERSION,
  type CollectLimits,
  type CollectRoot,
  type GuestAccount,
  type GuestIsolation,
  type GuestJob,
  type GuestMount,
  type RpcBatch,
  type UploadGrant,
} from '#contracts/guest';

/** A job or batch that does not keep the contract; nothing was started. */
export class JobInputError extends Error {
  override readonly name = 'JobInputError';
}

type Fields = Readonly<Record<string, unknown>>;

function fail(place: string, seen: unknown, allowed: string): never {
  const text = JSON.stringify(seen) as string | undefined;
  throw new JobInputError(`${place} is ${(text ?? 'missing').slice(0, 200)}; allowed: ${allowed}`);
}

function fieldsOf(value: unknown, place: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(place, value, 'an object');
  return value as Fields;
}

function textOf(value: unknown, place: string): string {
  if (typeof value !== 'string' || value.includes('\0')) return fail(place, value, 'text without NUL');
  return value;
}

function absolutePathOf(value: unknown, place: string): string {
  const text = textOf(value, place);
  const isAbsolute = /^(?:\/|[A-Za-z]:[\\/])/.test(text);
  if (!isAbsolute || text.split(/[\\/]/).includes('..')) return fail(place, value, 'an absolute path without ..');
  return text;
}

function numberOf(value: unknown, place: string, least: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < least) {
    return fail(place, value, `a number from ${least}`);
  }
  return value;
}

function listOf<T>(value: unknown, place: string, read: (item: unknown, place: string) => T): readonly T[] {
  if (!Array.isArray(value)) return fail(place, value, 'a list');
  return value.map((item, index) => read(item, `${place}[${index}]`));
}

function mapOf(value: unknown, place: string): Readonly<Record<string, string>> {
  const fields = fieldsOf(value, place);
  return Object.fromEntries(Object.entries(fields).map(([name, item]) => [name, textOf(item, `${place}.${name}`)]));
}

function idOf(value: unknown): string {
  if (typeof value !== 'string' || !isJobId(value))
    return fail('jobId', value, '1 to 240 of A-Za-z0-9._~-, not . or ..');
  return value;
}

/** True for what may name a job's folder. */
export function isJobId(text: string): boolean {
  return /^[A-Za-z0-9._~-]{1,240}$/.test(text) && !text.startsWith('.');
}

function userIdOf(value: unknown, place: string): number | null {
  if (value === null) return null;
  if (!Number.isInteger(value) || Number(value) < 1)
    return fail(place, value, 'null or a whole number from 1 (never root)');
  return Number(value);
}

function accountOf(value: unknown): GuestAccount | null {
  if (value === null) return null;
  const fields = fieldsOf(value, 'account');
  const name = textOf(fields['name'], 'account.name');
  if (!/^[A-Za-z_][A-Za-z0-9_. -]{0,63}$/.test(name)) return fail('account.name', name, 'the name of a local user');
  return {
    name,
    uid: userIdOf(fields['uid'], 'account.uid'),
    gid: userIdOf(fields['gid'], 'account.gid'),
    home: absolutePathOf(fields['home'], 'account.home'),
  };
}

function mountOf(value: unknown, place: string): GuestMount {
  const fields = fieldsOf(value, place);
  const source = absolutePathOf(fields['source'], `${place}.source`);
  const target = absolutePathOf(fields['target'], `${place}.target`);
  if (source === '/' || /^\/(?:sys|proc)(?:\/|$)/.test(source)) {
    return fail(`${place}.source`, source, 'a path that is not /, /proc or /sys');
  }
  if (/^\/+$/.test(target) || /^\/(?:proc|dev)(?:\/|$)/.test(target)) {
    return fail(`${place}.target`, target, 'a path that is not /, /proc or /dev');
  }
  if (typeof fields['readOnly'] !== 'boolean') return fail(`${place}.readOnly`, fields['readOnly'], 'true or false');
  return { source, target, readOnly: fields['readOnly'] };
}

function isolationOf(value: unknown): GuestIsolation {
  const fields = fieldsOf(value, 'isolation');
  const home = fields['home'];
  const namespace = fields['networkNamespace'];
  const network =
    namespace === undefined ? {} : { networkNamespace: absolutePathOf(namespace, 'isolation.networkNamespace') };
  if (fields['kind'] === 'none') {
    const own = home === undefined ? {} : { home: absolutePathOf(home, 'isolation.home') };
    const flags = { ...flagOf(fields, 'keepsDesktop'), ...flagOf(fields, 'allowsSudo') };
    return { kind: 'none', ...own, ...flags, ...network };
  }
  if (fields['kind'] !== 'namespaces') return fail('isolation.kind', fields['kind'], 'none, namespaces');
  const hostname = textOf(fields['hostname'], 'isolation.hostname');
  if (!/^[A-Za-z0-9-]{1,63}$/.test(hostname)) return fail('isolation.hostname', hostname, '1 to 63 of A-Za-z0-9-');
  return { kind: 'namespaces', mounts: listOf(fields['mounts'], 'isolation.mounts', mountOf), hostname, ...network };
}

function flagOf<Name extends string>(fields: Fields, name: Name): Partial<Record<Name, boolean>> {
  const value = fields[name];
  if (value === undefined) return {};
  if (typeof value !== 'boolean') return fail(`isolation.${name}`, value, 'true, false');
  return { [name]: value } as Partial<Record<Name, boolean>>;
}

function versionOf(fields: Fields): typeof GUEST_CONTRACT_VERSION {
  if (fields['version'] !== GUEST_CONTRACT_VERSION) {
    return fail('version', fields['version'], `${GUEST_CONTRACT_VERSION}; stage the runner of the same release`);
  }
  return GUEST_CONTRACT_VERSION;
}

/** Reads permission to upload. @throws JobInputError. */
export function parseGrant(value: unknown): UploadGrant {
  const fields = fieldsOf(value, 'grant');
  return {
    url: textOf(fields['url'], 'grant.url'),
    fields: mapOf(fields['fields'], 'grant.fields'),
    keyPrefix: textOf(fields['keyPrefix'], 'grant.keyPrefix'),
  };
}

function rootOf(value: unknown, place: string): CollectRoot {
  const fields = fieldsOf(value, place);
  const as = fields['as'];
  if (as !== 'agent' && as !== 'runner') return fail(`${place}.as`, as, 'agent, runner');
  return {
    path: absolutePathOf(fields['path'], `${place}.path`),
    keyPrefix: textOf(fields['keyPrefix'], `${place}.keyPrefix`),
    as,
  };
}

function limitsOf(value: unknown): CollectLimits {
  const fields = fieldsOf(value, 'limits');
  return {
    maxFiles: numberOf(fields['maxFiles'], 'limits.maxFiles', 0),
    maxFileMiB: numberOf(fields['maxFileMiB'], 'limits.maxFileMiB', 0),
    maxTotalMiB: numberOf(fields['maxTotalMiB'], 'limits.maxTotalMiB', 0),
  };
}

function envOf(value: unknown): Readonly<Record<string, string>> {
  const env = mapOf(value, 'env');
  const odd = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  return odd === undefined ? env : fail('a name in env', odd, 'letters, digits and _, not starting with a digit');
}

/** Reads a job. @throws JobInputError naming the field, what it holds and what is allowed. */
export function parseJob(text: string): GuestJob {
  const fields = fieldsOf(parseJson(text), 'job');
  const base = {
    version: versionOf(fields),
    jobId: idOf(fields['jobId']),
    wallSeconds: Math.min(numberOf(fields['wallSeconds'], 'wallSeconds', 0.05), 2_000_000),
    account: accountOf(fields['account']),
    isolation: isolationOf(fields['isolation']),
  };
  switch (fields['kind']) {
    case 'exec': {
      const argv = listOf(fields['argv'], 'argv', textOf);
      if (argv.length === 0 || argv[0] === '') return fail('argv', argv, 'a program and its arguments');
      return {
        ...base,
        kind: 'exec',
        argv,
        env: envOf(fields['env']),
        cwd: absolutePathOf(fields['cwd'], 'cwd'),
        stdin: fields['stdin'] === null ? null : stdinOf(fields['stdin']),
        outputLimitMiB: numberOf(fields['outputLimitMiB'], 'outputLimitMiB', 0),
      };
    }
    case 'fetch':
      return { ...base, kind: 'fetch', listUrl: textOf(fields['listUrl'], 'listUrl') };
    case 'collect':
      return {
        ...base,
        kind: 'collect',
        roots: listOf(fields['roots'], 'roots', rootOf),
        grant: parseGrant(fields['grant']),
        manifestKey: textOf(fields['manifestKey'], 'manifestKey'),
        limits: limitsOf(fields['limits']),
      };
    default:
      return fail('kind', fields['kind'], 'exec, fetch, collect');
  }
}

function stdinOf(value: unknown): string {
  return typeof value === 'string' ? value : fail('stdin', value, 'null or text');
}

/** Reads a batch. @throws JobInputError. */
export function parseBatch(text: string): RpcBatch {
  const fields = fieldsOf(parseJson(text), 'batch');
  return {
    version: versionOf(fields),
    account: accountOf(fields['account']),
    isolation: isolationOf(fields['isolation']),
    ...(fields['env'] === undefined ? {} : { env: envOf(fields['env']) }),
    timeoutSeconds: numberOf(fields['timeoutSeconds'], 'timeoutSeconds', 0.05),
    calls: listOf(fields['calls'], 'calls', (item, place) => {
      const call = fieldsOf(item, place);
      return {
        command: textOf(call['command'], `${place}.command`),
        params: fieldsOf(call['params'] ?? {}, `${place}.params`),
      };
    }),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return fail('the input', text.slice(0, 40), 'one JSON object');
  }
}
