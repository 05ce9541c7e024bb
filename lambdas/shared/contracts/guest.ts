/**
 * The contract between a channel and the guest runner: job files in, result files out.
 * Free of zod so that the bundled runner stays small; the runner checks what it reads by hand.
 */

/** Version of the job and result files; a runner refuses a job of another version. */
export const GUEST_CONTRACT_VERSION = 1;

/** An account inside the guest. On Windows `uid` and `gid` are null and `name` is the local user. */
export interface GuestAccount {
  readonly name: string;
  readonly uid: number | null;
  readonly gid: number | null;
  readonly home: string;
}

/** One host path shown inside the job's own root; nothing that is not listed is visible. */
export interface GuestMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/**
 * How a job is walled in. `none` runs it as the given account with no namespace of its own;
 * `namespaces` gives it its own mount and PID namespace with a root made of `mounts` only (Linux, root).
 * `networkNamespace` is the host path of a network namespace to enter (Linux, root); without it the network is the host's.
 * With `none` only the runner's own account may enter one.
 */
export type GuestIsolation =
  /**
   * `home` is what HOME says and where commands start when there is no account of its own. `keepsDesktop`: the account has
   * a desktop that outlives its jobs, so the end of a job ends what can be followed of it and only `stop` ends all of the
   * account. `allowsSudo`: commands may gain privileges.
   */
  | {
      readonly kind: 'none';
      readonly home?: string;
      readonly networkNamespace?: string;
      readonly keepsDesktop?: boolean;
      readonly allowsSudo?: boolean;
    }
  | {
      readonly kind: 'namespaces';
      readonly mounts: readonly GuestMount[];
      readonly hostname: string;
      readonly networkNamespace?: string;
    };

interface GuestJobBase {
  readonly version: typeof GUEST_CONTRACT_VERSION;
  /** 1 to 240 of `A-Za-z0-9._~-`; starting the same id twice is the same job. */
  readonly jobId: string;
  readonly wallSeconds: number;
  /** The account the work runs as; null means the runner's own. */
  readonly account: GuestAccount | null;
  readonly isolation: GuestIsolation;
}

/** Runs a command. stdout and stderr are streamed to files of the job folder, each cut at `outputLimitMiB`. */
export interface ExecJob extends GuestJobBase {
  readonly kind: 'exec';
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Text given on standard input; null means an empty input. */
  readonly stdin: string | null;
  readonly outputLimitMiB: number;
}

/** One file to bring into the guest. `url` answers GET with ranges. */
export interface FetchItem {
  readonly url: string;
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly executable: boolean;
}

/** Downloads files. `listUrl` answers GET with JSON `{items: FetchItem[], directories: string[]}`; all directories are made first. */
export interface FetchJob extends GuestJobBase {
  readonly kind: 'fetch';
  readonly listUrl: string;
}

/** Permission to upload any number of objects under one prefix by HTTP POST forms (S3's POST policy). */
export interface UploadGrant {
  readonly url: string;
  /** Form fields to send as they are, before `key` and the file. */
  readonly fields: Readonly<Record<string, string>>;
  /** Every key must start with this. */
  readonly keyPrefix: string;
}

/** One folder to upload. Links are recorded and never followed; devices, pipes and sockets are recorded and skipped. */
export interface CollectRoot {
  readonly path: string;
  /** Below the grant's prefix, with a trailing slash. */
  readonly keyPrefix: string;
  /** Whose eyes to read with. */
  readonly as: 'agent' | 'runner';
}

export interface CollectLimits {
  /** Files uploaded. Folders and refused entries are bounded too, 10,000 beyond this; what has a long path counts several times. */
  readonly maxFiles: number;
  readonly maxFileMiB: number;
  readonly maxTotalMiB: number;
}

/** Uploads folders with checksums, then `<grant.keyPrefix><manifestKey>` holding a CollectManifest. */
export interface CollectJob extends GuestJobBase {
  readonly kind: 'collect';
  readonly roots: readonly CollectRoot[];
  readonly grant: UploadGrant;
  readonly manifestKey: string;
  readonly limits: CollectLimits;
}

export type GuestJob = ExecJob | FetchJob | CollectJob;

/** What became of one path of a collected folder. `key` is null unless it was uploaded. */
export interface CollectEntry {
  /** Relative to its root, `/`-separated, as bytes decoded from UTF-8 (`\ufffd` for what is not). */
  readonly path: string;
  readonly kind: 'file' | 'link' | 'other';
  readonly sizeBytes: number;
  readonly sha256: string | null;
  readonly key: string | null;
  /** For a link its target, of which at most 1024 bytes. */
  readonly target: string | null;
  readonly skipped:
    null | 'too-large' | 'too-many' | 'total-too-large' | 'not-regular' | 'unreadable' | 'changed-while-read';
}

export interface CollectManifest {
  readonly version: typeof GUEST_CONTRACT_VERSION;
  readonly jobId: string;
  readonly roots: readonly {
    readonly keyPrefix: string;
    readonly missing: boolean;
    readonly entries: readonly CollectEntry[];
  }[];
}

/** Why a job ended. `runner-lost` is written by a later `status` or `stop` when the supervisor is gone without a result. */
export type JobEnd = 'exited' | 'wall-limit' | 'stopped' | 'spawn-failed' | 'runner-lost';

/** The last file a job writes (atomically). Times are ISO-8601 UTC. */
export interface JobResult {
  readonly version: typeof GUEST_CONTRACT_VERSION;
  readonly jobId: string;
  readonly end: JobEnd;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly durationSeconds: number;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  /**
   * True when a scan at `endedAt` found nothing left: of the job's PID namespace, or without one of the account, or without
   * an account of its own of the process tree as far as it could be followed.
   */
  readonly confirmedDead: boolean;
  readonly survivors: number;
  readonly message: string | null;
  /** For fetch and collect: how much was moved. */
  readonly transferredFiles: number;
  readonly transferredBytes: number;
  readonly sha256OfManifest: string | null;
}

export type JobStatus =
  | { readonly state: 'unknown' }
  | { readonly state: 'running'; readonly startedAt: string }
  | { readonly state: 'finished'; readonly result: JobResult };

/** What a job has said first, cut at 4096 bytes; null when it has not. `stderr` is the last 2000 characters of its errors. */
export interface FirstLine {
  readonly line: string | null;
  readonly stderr: string;
  readonly status: JobStatus;
}

/** What `stop` found after killing everything: confirmed only when two scans of the process table in a row found nothing. */
export interface StopReport {
  readonly confirmedDead: boolean;
  readonly survivors: number;
  /** Some of what survived, by kind and name, where the system tells them. */
  readonly left?: readonly string[] | undefined;
  /** Why the machine cannot tell whether anything survived; absent where it can. */
  readonly unsure?: string | undefined;
}

/** One command in the guest RPC's own vocabulary (`run_command`, `read_text`, `write_bytes`, `screenshot`, ...). */
export interface RpcCall {
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export type RpcResult =
  { readonly success: true; readonly [field: string]: unknown } | { readonly success: false; readonly error: string };

/** Commands that the guest runner answers itself, in any sandbox; all others belong to a screen. */
export const GUEST_COMMANDS = [
  ...(['version', 'run_command', 'file_exists', 'directory_exists', 'list_dir', 'read_text', 'write_text'] as const),
  ...(['read_bytes', 'write_bytes', 'get_file_size', 'delete_file', 'create_dir', 'delete_dir'] as const),
] as const;

export type GuestCommand = (typeof GUEST_COMMANDS)[number];

/** A batch for `runner rpc`: read from standard input, answered as one JSON line on standard output. */
export interface RpcBatch {
  readonly version: typeof GUEST_CONTRACT_VERSION;
  readonly account: GuestAccount | null;
  readonly isolation: GuestIsolation;
  /** What commands have in their environment besides the base. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly calls: readonly RpcCall[];
}

/**
 * The runner's verbs, for a host on the same machine that loads the bundled file instead of starting it for each.
 * `jobsDir` holds one folder for each job. `uid` is the sandbox's own account: all its processes are killed and looked for.
 */
export interface GuestRunner {
  status(jobsDir: string, jobId: string): Promise<JobStatus>;
  /** Undefined when the time is over or the signal aborts first. A job nobody knows is an error. */
  wait(
    jobsDir: string,
    jobId: string,
    options?: { readonly timeoutSeconds?: number; readonly signal?: AbortSignal },
  ): Promise<JobResult | undefined>;
  /** The first line of a job's output, or none once the job has ended or the time is over. A job nobody knows is an error. */
  firstLine(
    jobsDir: string,
    jobId: string,
    options: { readonly timeoutSeconds: number; readonly signal?: AbortSignal },
  ): Promise<FirstLine>;
  stop(jobsDir: string, jobId: string, uid: number | null): Promise<StopReport>;
  /** Bars the folder to new jobs, then ends every job of it. */
  close(jobsDir: string, uid: number | null): Promise<StopReport>;
  rpc(batch: RpcBatch): Promise<readonly RpcResult[]>;
  /** Null when a command really ran walled in like this, else why it could not. */
  probe(account: GuestAccount | null, isolation: GuestIsolation): Promise<string | null>;
}

/** One verb for the guest runner. What it says is put to `reply`, never printed. */
export interface GuestRequest {
  readonly version: typeof GUEST_CONTRACT_VERSION;
  readonly requestId: string;
  /** ISO-8601 UTC; a runner refuses a request that is older. */
  readonly validUntil: string;
  readonly verb:
    | { readonly kind: 'start'; readonly job: GuestJob }
    | { readonly kind: 'status'; readonly jobId: string }
    /** Ends once the job has, or another wait for it begins. */
    | { readonly kind: 'wait'; readonly jobId: string }
    /** `uid`, or on Windows `account`, is whose processes end with the job. */
    | { readonly kind: 'stop'; readonly jobId: string; readonly uid: number | null; readonly account: string | null }
    | { readonly kind: 'first-line'; readonly jobId: string; readonly timeoutSeconds: number }
    | { readonly kind: 'rpc'; readonly batch: RpcBatch };
  /** Null when nobody reads what it says. */
  readonly reply: (UploadGrant & { readonly key: string }) | null;
}

/** `value` is what the verb answers: null, `JobStatus`, `StopReport`, `FirstLine`, or `RpcResult[]`. */
export type GuestReply =
  | { readonly requestId: string; readonly ok: true; readonly value: unknown }
  | { readonly requestId: string; readonly ok: false; readonly error: string; readonly message: string };

/** What a runner says of the desktop it belongs to. */
export interface GuestState {
  /** Null on Linux, where the desktop is no session of its own. */
  readonly hasConsoleSession: boolean | null;
  readonly answersCua: boolean;
  /** Null when no picture came, as its size, `<width>x<height>` in pixels. */
  readonly isScreenBlack: boolean | null;
  readonly screenSize: string | null;
  /** What was last noted where the screen's size is set after the start; null where nothing was. */
  readonly screenNote: string | null;
}

/** What `hello` prints, as one line: the key that requests are sealed for (32 bytes, base64url), and the state. */
export interface GuestHello {
  readonly version: typeof GUEST_CONTRACT_VERSION;
  readonly publicKey: string;
  readonly state: GuestState;
}

/** How a call that is to be passed on to a cua-server ended: as the server or HTTP says, without a proper answer, or before it. */
export type GuestCallAnswer =
  | { readonly kind: 'result'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'failure'; readonly reason: string; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'http'; readonly statusCode: number; readonly detail: string }
  | { readonly kind: 'transport'; readonly fault: string; readonly reason: string; readonly isNotPassedOn?: true };
