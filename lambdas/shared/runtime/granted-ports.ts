import type { FunctionDeclaration } from '#contracts/function-declaration';
import type { Need } from '#contracts/needs';
import { ExamHallError } from '#core/errors';
import type { ObjectRef } from '#ports/artifact-store';
import type { Ports } from '#ports/ports';

type Refusal = string | null;
/** Why a call of a port's method is not covered by what the function declares, or null. */
type Check = (method: string, args: readonly unknown[]) => Refusal;

/**
 * The ports as one function may use them: what its declaration does not name throws. What passes here finds its rights
 * in the cloud, where they are made from the same declaration.
 */
export function grantedPorts({ name, needs }: FunctionDeclaration, ports: Ports): Ports {
  const guard = <T extends object>(port: T, what: string, check: Check): T => guarded(port, { name, what, check });
  const has = (port: Need['port']): Check => {
    const isNamed = needs.some((need) => need.port === port);
    return () => (isNamed ? null : 'anything of it');
  };
  const sandboxes = accessOf(needs, 'sandboxes', SANDBOX_ACCESS);
  const channel = accessOf(needs, 'channel', CHANNEL_ACCESS);
  return {
    ...ports,
    unitStore: guard(ports.unitStore, 'unitStore', accessOf(needs, 'unitStore', STORE_ACCESS)),
    artifacts: guard(ports.artifacts, 'artifacts', (method, args) => checkObjects(needs, method, args)),
    providers: {
      get: (provider) => guard(ports.providers.get(provider), 'sandboxes', sandboxes),
      all: () => ports.providers.all().map((provider) => guard(provider, 'sandboxes', sandboxes)),
    },
    channels: { for: (sandbox) => guard(ports.channels.for(sandbox), 'channel', channel) },
    guestCalls: guard(ports.guestCalls, 'guestCalls', has('guestCalls')),
    events: guard(ports.events, 'events', has('events')),
    tokens: guard(ports.tokens, 'tokens', has('tokens')),
    timers: guard(ports.timers, 'timers', accessOf(needs, 'timers', TIMER_ACCESS)),
    runTree: guard(ports.runTree, 'runTree', has('runTree')),
    workspace: guard(ports.workspace, 'workspace', has('workspace')),
    modules: guard(ports.modules, 'modules', has('modules')),
    policy: allowedPolicy(name, needs, ports),
    executions: guard(ports.executions, 'executions', (_, [machine]) => {
      const isNamed = needs.some(
        (need) => need.port === 'executions' && need.machines.some((each) => each === machine),
      );
      return isNamed ? null : `machine ${String(machine)}`;
    }),
  };
}

/** Data, not calls: a function that does not declare it finds none. */
function allowedPolicy(name: string, needs: readonly Need[], { policy }: Ports): Ports['policy'] {
  if (needs.some((need) => need.port === 'policy')) return policy;
  return new Proxy(policy, {
    get: (_, key) => {
      const message = `${name} reads policy (${String(key)}), which it does not declare; add it to its needs in #contracts/functions`;
      throw new ExamHallError('EnvironmentInvalidError', message);
    },
  });
}

/** Methods by the access that covers them. */
type AccessTable = Readonly<Record<string, readonly string[]>>;

const STORE_ACCESS: AccessTable = { read: ['get', 'query'], write: ['get', 'query', 'write'] };
const SANDBOX_ACCESS: AccessTable = {
  launch: ['acquire'],
  describe: ['describe', 'list'],
  release: ['release', 'list'],
  evidence: ['bootEvidence'],
  offer: ['offer', 'refusal'],
};
const TIMER_ACCESS: AccessTable = { create: ['create', 'remove', 'exists'], remove: ['remove', 'exists'] };
const CHANNEL_ACCESS: AccessTable = {
  jobs: ['start', 'wait', 'status', 'firstLine', 'stop', 'jobFolder', 'readiness'],
  call: ['call'],
};

function accessOf(needs: readonly Need[], port: Need['port'], table: AccessTable): Check {
  const allowed = needs.flatMap((need) => (need.port === port && 'access' in need ? (table[need.access] ?? []) : []));
  return (method) => (allowed.includes(method) ? null : method);
}

type ObjectAccess = Extract<Need, { port: 'artifacts' }>['access'];
/** Any of these covers a call; the first names it. */
const OBJECT_ACCESS: Readonly<Record<string, readonly [ObjectAccess, ...ObjectAccess[]]>> = {
  put: ['write', 'deposit'],
  putFile: ['write'],
  signUpload: ['write', 'deposit'],
  remove: ['remove'],
  get: ['read', 'write'],
  getFile: ['read', 'write'],
  head: ['read', 'write'],
  signGet: ['read', 'write'],
  list: ['read', 'write', 'remove', 'deposit'],
};

function checkObjects(needs: readonly Need[], method: string, args: readonly unknown[]): Refusal {
  if (method === 'copy') {
    return checkObject(needs, 'get', refOf(args)) ?? checkObject(needs, 'put', args[1] as ObjectRef);
  }
  return checkObject(needs, method, refOf(args));
}

/** `list` and `signUpload` name bucket and prefix apart, all others an object. */
function refOf([first, second]: readonly unknown[]): ObjectRef {
  return typeof first === 'string' ? ({ bucket: first, key: second } as ObjectRef) : (first as ObjectRef);
}

function checkObject(needs: readonly Need[], method: string, { bucket, key }: ObjectRef): Refusal {
  const covering = OBJECT_ACCESS[method];
  if (covering === undefined) return method;
  const isCovered = needs.some(
    (need) =>
      need.port === 'artifacts' &&
      need.bucket === bucket &&
      covering.includes(need.access) &&
      need.keyPrefixes.some((prefix) => key.startsWith(prefix)),
  );
  return isCovered ? null : `to ${covering[0]} ${bucket}/${key}`;
}

interface Guard {
  /** Of the function. */
  readonly name: string;
  /** Of the port. */
  readonly what: string;
  readonly check: Check;
}

function guarded<T extends object>(port: T, { name, what, check }: Guard): T {
  return new Proxy(port, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        const refusal = check(String(key), args);
        if (refusal === null) return Reflect.apply(value, target, args) as unknown;
        const message = `${name} uses ${what} (${refusal}), which it does not declare; add it to its needs in #contracts/functions`;
        throw new ExamHallError('EnvironmentInvalidError', message);
      };
    },
  });
}
