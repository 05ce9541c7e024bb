/** Facts of one deployment and one sandbox. What is null leaves the checks that need it without an answer. */
export interface PreflightFacts {
  readonly region: string;
  readonly stage: string;
  readonly privilege: 'restricted' | 'upstream';
  /** Node inside, and where the runner, its key and its jobs lie. */
  readonly node: string;
  readonly runner: string;
  readonly runnerKey: string;
  readonly jobs: string;
  /** Names of buckets, table and document. */
  readonly artifacts: string | null;
  readonly references: string | null;
  readonly table: string | null;
  readonly runDocument: string | null;
  /** Key of an object of an attempt that is not the sandbox's own. */
  readonly otherAttemptKey: string | null;
  /** A link of the sandbox's own whose key was changed to that of another attempt. */
  readonly changedLink: string | null;
  /** Private address of another sandbox of ours. */
  readonly siblingAddress: string | null;
  /** Public address of the sandbox. */
  readonly publicAddress: string | null;
  /** With what tokens of the machine begin: letters and digits. */
  readonly tokenStart: string | null;
  /** Where AWS answers, with `{service}` in it; null for AWS itself. */
  readonly endpoint: string | null;
}

/** One thing that is tried. Texts may name facts in braces. */
export type PreflightWay =
  /** `silence`: no connection counts as refused, which is so where the network itself is the wall. */
  | {
      readonly kind: 'http';
      readonly method: 'GET' | 'PUT';
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly silence: 'refused' | 'unknown';
    }
  /** An answer of any kind, a refused connection too, means that the network let it through. */
  | { readonly kind: 'connect'; readonly host: string; readonly ports: readonly number[] }
  /** Signed with the credentials of the machine's role; an empty body is a GET. */
  | {
      readonly kind: 'role';
      readonly service: string;
      readonly path: string;
      readonly target: string;
      readonly body: string;
    }
  /** Uses `try_it <words> <command...>` and `settle`; null where nothing of the kind exists. */
  | { readonly kind: 'script'; readonly linux: string | null; readonly windows: string | null };

export interface PreflightCheck {
  readonly id: string;
  /** What is tried, one clause. */
  readonly tries: string;
  readonly refusedWhen: string;
  /** The agent's account inside, root inside, or a computer outside the network. */
  readonly from: 'agent' | 'root' | 'outside';
  /** Where it has to be refused; with `upstream` the agent may become root. */
  readonly privileges: readonly ('restricted' | 'upstream')[];
  readonly way: PreflightWay;
}

/** Where something is refused whatever the agent's privilege. */
export const ANY_PRIVILEGE: PreflightCheck['privileges'] = ['restricted', 'upstream'];

/** A check as the agent's account, whatever its privilege. */
export function asAgent(id: string, tries: string, refusedWhen: string, way: PreflightWay): PreflightCheck {
  return { id, tries, refusedWhen, from: 'agent', privileges: ANY_PRIVILEGE, way };
}

/** One that an agent passes that may become root. */
export function ifRestricted(check: PreflightCheck): PreflightCheck {
  return { ...check, privileges: ['restricted'] };
}
