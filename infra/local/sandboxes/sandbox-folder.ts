import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Sandbox, SandboxSpec } from '#ports/sandbox-provider';

/** What a sandbox's folder says about it; a new process finds what an earlier one left by these. */
export interface SandboxMarker {
  readonly version: 1;
  readonly state: 'pending' | 'ready' | 'stopped' | 'detached';
  readonly clientToken: string;
  readonly attemptId: string;
  readonly expiresAt: string;
  readonly createdAt: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly uid: number | null;
  readonly sandbox: Sandbox | null;
}

const MARKER = 'sandbox.json';

/** The folder of one sandbox: `sandbox.json`, `jobs/` and the agent's own `data/`, `home/`, `tmp/`. */
export class SandboxFolder {
  readonly path: string;
  readonly sandboxId: string;

  constructor(root: string, sandboxId: string) {
    this.sandboxId = sandboxId;
    this.path = path.join(root, sandboxId);
  }

  /** Made of the client token alone: one token, one folder. */
  static idOf(spec: Pick<SandboxSpec, 'clientToken'>): string {
    return `sbx-${createHash('sha256').update(spec.clientToken).digest('hex').slice(0, 20)}`;
  }

  /** True for what `idOf` makes; nothing else is ever looked for on disk. */
  static isId(text: string): boolean {
    return /^sbx-[0-9a-f]{20}$/.test(text);
  }

  get jobs(): string {
    return path.join(this.path, 'jobs');
  }

  get data(): string {
    return path.join(this.path, 'data');
  }

  get home(): string {
    return path.join(this.path, 'home');
  }

  get temporary(): string {
    return path.join(this.path, 'tmp');
  }

  exists(): boolean {
    return existsSync(this.path);
  }

  /** Makes the folders, the agent's own belonging to it. Safe to repeat. */
  make(uid: number | null): void {
    mkdirSync(this.jobs, { recursive: true, mode: 0o700 });
    const work = path.join(this.home, '.ale');
    for (const folder of [this.data, this.home, work, this.temporary]) {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      if (uid !== null) chownSync(folder, uid, uid);
    }
    chmodSync(this.temporary, 0o1777);
  }

  /** Undefined when there is none, or none that can be read. */
  marker(): SandboxMarker | undefined {
    try {
      return JSON.parse(readFileSync(path.join(this.path, MARKER), 'utf8')) as SandboxMarker;
    } catch {
      return undefined;
    }
  }

  writeMarker(marker: SandboxMarker): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    const draft = path.join(this.path, `.${MARKER}-${randomBytes(6).toString('hex')}`);
    writeFileSync(draft, JSON.stringify(marker, null, 2), { mode: 0o600 });
    renameSync(draft, path.join(this.path, MARKER));
  }
}
