import type { BilledMachine } from '#core/cost-facts';
import { withFate } from '#core/teardown';
import { createNoopProvider } from '#local/sandboxes/noop-provider';
import type {
  LaunchLog,
  ReleaseMode,
  ReleaseReport,
  Sandbox,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
} from '#ports/sandbox-provider';

type Act = 'acquire' | 'describe' | 'release' | 'list';

export interface FakeMachinesOptions {
  readonly name?: string;
  /** What its machines are billed as. */
  readonly billed?: BilledMachine;
  /** How its guests are asked, where that is not as on one computer. */
  readonly channel?: Sandbox['channel'];
  /** Where it launches, for one that keeps a log of launches. */
  readonly pool?: string;
  readonly leastStartSeconds?: number;
  /** What it says of a wish before anything is launched. */
  readonly offer?: NonNullable<SandboxProvider['offer']>;
  /** What a machine shows of a failed start. */
  readonly bootEvidence?: NonNullable<SandboxProvider['bootEvidence']>;
  /** Called before each act, and after it when it went well; what it throws, the act throws. */
  readonly fault?: (when: 'before' | 'after', act: Act, subject: string) => void;
}

/** A provider in memory whose machines can be taken away, with or without a word, and refuse to go. */
export class FakeMachines implements SandboxProvider {
  readonly name: string;
  readonly leastStartSeconds?: number;
  readonly offer?: NonNullable<SandboxProvider['offer']>;
  readonly bootEvidence?: NonNullable<SandboxProvider['bootEvidence']>;
  readonly acts: string[] = [];
  /** State answered for a sandbox instead of the real one. */
  readonly states = new Map<string, SandboxState>();
  /** How many more releases of a sandbox leave its machine behind. */
  readonly stubborn = new Map<string, number>();
  readonly #machines: SandboxProvider;
  readonly #told: Partial<Pick<Sandbox, 'billed' | 'pool' | 'channel'>>;
  readonly #held = new Map<string, Sandbox>();
  readonly #fault: NonNullable<FakeMachinesOptions['fault']>;

  constructor(options: FakeMachinesOptions = {}) {
    const { name = 'noop', billed, pool, channel, fault = () => undefined } = options;
    if (options.offer !== undefined) this.offer = options.offer;
    if (options.leastStartSeconds !== undefined) this.leastStartSeconds = options.leastStartSeconds;
    if (options.bootEvidence !== undefined) this.bootEvidence = options.bootEvidence;
    this.name = name;
    this.#told = {
      ...(billed === undefined ? {} : { billed }),
      ...(pool === undefined ? {} : { pool }),
      ...(channel === undefined ? {} : { channel }),
    };
    this.#fault = fault;
    this.#machines = createNoopProvider({ name });
  }

  /** Sandboxes that are there. */
  get held(): readonly Sandbox[] {
    return [...this.#held.values()];
  }

  /** The machine is gone; `evidence` is what its provider says about it. */
  async lose(sandboxId: string, evidence: string | null): Promise<void> {
    const sandbox = this.#held.get(sandboxId);
    if (sandbox !== undefined) await this.#machines.release(sandbox, 'delete');
    this.#held.delete(sandboxId);
    this.states.set(sandboxId, { state: 'gone', evidence });
  }

  async acquire(spec: SandboxSpec, launches?: LaunchLog): Promise<Sandbox> {
    const { pool } = this.#told;
    if (pool !== undefined) await launches?.note({ launchTry: 1, pool });
    return await this.#act('acquire', spec.attemptId, async () => {
      const sandbox = { ...(await this.#machines.acquire(spec)), ...this.#told };
      this.#held.set(sandbox.sandboxId, sandbox);
      return sandbox;
    });
  }

  async describe(sandbox: Pick<Sandbox, 'sandboxId'>): Promise<SandboxState> {
    return await this.#act('describe', sandbox.sandboxId, async () => {
      return this.states.get(sandbox.sandboxId) ?? (await this.#machines.describe(sandbox));
    });
  }

  async release(sandbox: Pick<Sandbox, 'sandboxId' | 'resources'>, mode: ReleaseMode): Promise<ReleaseReport> {
    return await this.#act('release', `${sandbox.sandboxId} ${mode}`, async () => {
      const left = this.stubborn.get(sandbox.sandboxId) ?? 0;
      if (left > 0) {
        this.stubborn.set(sandbox.sandboxId, left - 1);
        return withFate(this.#held.get(sandbox.sandboxId)?.resources ?? sandbox.resources, 'left');
      }
      if (mode === 'delete' || mode === 'detach') this.#held.delete(sandbox.sandboxId);
      return await this.#machines.release(sandbox, mode);
    });
  }

  async list(cursor?: string): ReturnType<SandboxProvider['list']> {
    return await this.#act('list', '', async () => await this.#machines.list(cursor));
  }

  async #act<T>(act: Act, subject: string, work: () => Promise<T>): Promise<T> {
    this.acts.push(`${act} ${subject}`.trim());
    this.#fault('before', act, subject);
    const done = await work();
    this.#fault('after', act, subject);
    return done;
  }
}
