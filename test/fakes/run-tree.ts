import { createHash } from 'node:crypto';
import { ExamHallError } from '#core/errors';
import { readFinishedRun } from '#core/finished-run';
import { isRunFolderName, RUN_FILES, runFolderName } from '#core/run-tree';
import type { ArtifactStore } from '#ports/artifact-store';
import type { FinishedRun, RunTree } from '#ports/run-tree';

/** A run tree in memory; `failNext` makes coming writes fail before they do anything. */
export class MemoryRunTree implements RunTree {
  /** By `<runDir>/<path>`. */
  readonly files = new Map<string, Buffer>();
  readonly folders = new Set<string>();
  readonly #artifacts: ArtifactStore;
  #failures: Error[] = [];

  constructor(artifacts: ArtifactStore) {
    this.#artifacts = artifacts;
  }

  failNext(error: Error): void {
    this.#failures.push(error);
  }

  async open(unitDir: string, stamp: string): Promise<string> {
    this.#mayFail();
    for (let taken = 0; ; taken += 1) {
      const runDir = inside(unitDir, runFolderName(stamp, taken));
      if (this.folders.has(runDir)) continue;
      this.folders.add(runDir);
      return runDir;
    }
  }

  async appendEvent(runDir: string, line: string): Promise<void> {
    this.#mayFail();
    const file = inside(runDir, RUN_FILES.events);
    this.files.set(file, Buffer.concat([this.files.get(file) ?? Buffer.alloc(0), Buffer.from(`${line}\n`)]));
  }

  async write(runDir: string, path: string, content: Uint8Array | string): Promise<void> {
    this.#mayFail();
    this.files.set(inside(runDir, path), Buffer.from(content));
  }

  async copyObject(runDir: string, path: string, key: string): Promise<void> {
    this.#mayFail();
    const file = inside(runDir, path);
    this.files.set(file, Buffer.from(await this.#artifacts.get({ bucket: 'artifacts', key })));
  }

  async makeDir(runDir: string, path: string): Promise<void> {
    this.folders.add(inside(runDir, path));
  }

  async list(runDir: string): ReturnType<RunTree['list']> {
    return [...this.files]
      .filter(([file]) => file.startsWith(`${runDir}/`))
      .map(([file, content]) => ({
        path: file.slice(runDir.length + 1),
        sizeBytes: content.length,
        sha256: createHash('sha256').update(content).digest('hex'),
      }))
      .sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  async finished(unitDir: string): Promise<readonly FinishedRun[]> {
    const below = [...this.files.keys()].filter((file) => file.startsWith(`${unitDir}/`));
    const names = new Set(below.map((file) => file.slice(unitDir.length + 1).split('/', 1)[0] ?? ''));
    return [...names]
      .filter(isRunFolderName)
      .sort()
      .flatMap((name) => {
        const runDir = `${unitDir}/${name}`;
        const read = (file: string): string | null => this.files.get(`${runDir}/${file}`)?.toString('utf8') ?? null;
        const facts = readFinishedRun(read(RUN_FILES.run), read(RUN_FILES.record));
        return facts === null ? [] : [{ runDir, ...facts }];
      });
  }

  text(file: string): string {
    return (this.files.get(file) ?? Buffer.alloc(0)).toString('utf8');
  }

  json(file: string): Readonly<Record<string, unknown>> | undefined {
    const content = this.files.get(file);
    return content === undefined ? undefined : (JSON.parse(content.toString('utf8')) as Record<string, unknown>);
  }

  /** Types of the events of a run, in order. */
  eventTypes(runDir: string): readonly string[] {
    const lines = this.text(`${runDir}/${RUN_FILES.events}`).split('\n').filter(Boolean);
    return lines.map((line) => (JSON.parse(line) as { readonly type: string }).type);
  }

  #mayFail(): void {
    const error = this.#failures.shift();
    if (error !== undefined) throw error;
  }
}

function inside(runDir: string, path: string): string {
  const parts = `${runDir}/${path}`.split('/');
  if (!parts.includes('..') && !path.startsWith('/') && !parts.some((part) => part.includes('\0')))
    return parts.join('/');
  throw new ExamHallError('UnsafePathError', `${path} would lie outside`);
}
