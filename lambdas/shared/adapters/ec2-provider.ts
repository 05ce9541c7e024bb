import type { EC2Client } from '@aws-sdk/client-ec2';
import { bootScript } from '#core/boot-script';
import { ExamHallError } from '#core/errors';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { Clock } from '#ports/clock';
import type {
  BootEvidence,
  LaunchLog,
  ReleaseMode,
  ReleaseReport,
  Sandbox,
  SandboxOffer,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
  SandboxToRelease,
  SandboxWish,
} from '#ports/sandbox-provider';
import { bootEvidenceOf } from './ec2-boot-evidence.ts';
import { findLaunched, launchMachine } from './ec2-launch.ts';
import { listSandboxes } from './ec2-list.ts';
import { Ec2Lookup } from './ec2-lookup.ts';
import { deleteSandbox, type ReleaseTools } from './ec2-release.ts';
import { sandboxOf } from './ec2-sandbox.ts';
import { setAside } from './ec2-set-aside.ts';
import { mayBeTooNew, notOurs, stateOf } from './ec2-state.ts';
import { isOurs } from './ec2-tags.ts';
import { chooseFor, offerFor, refusalFor, type Ec2Choice } from './ec2-wish.ts';

interface Ec2ProviderOptions {
  /** Its retries have to be those of the SDK's mode `adaptive`. */
  readonly client: EC2Client;
  readonly settings: SandboxSettings;
  readonly clock: Clock;
  /** Where a machine fetches runner and desktop from at its first boot. */
  readonly boot: { archive(): Promise<{ readonly url: string; readonly sha256: string }> };
}

/** Machines of EC2, one for each attempt, in the networks and from the images of one deployment. */
export function createEc2Provider(options: Ec2ProviderOptions): SandboxProvider {
  return new Ec2Provider(options);
}

/** Without a log nothing is remembered between calls: what was launched is looked for each time. */
const FORGETFUL: LaunchLog = {
  coolingPools: [],
  last: null,
  note: async () => undefined,
  refused: async () => undefined,
};

class Ec2Provider implements SandboxProvider {
  readonly name = 'aws';
  /** A machine is pending for some ten seconds; its boot and an agent that is online take as long again at the least. */
  readonly leastStartSeconds = 20;
  readonly #boot: Ec2ProviderOptions['boot'];
  readonly #tools: ReleaseTools;

  constructor({ client, settings, clock, boot }: Ec2ProviderOptions) {
    this.#boot = boot;
    this.#tools = { client, settings, clock, lookup: new Ec2Lookup(client) };
  }

  async acquire(spec: SandboxSpec, launches?: LaunchLog): Promise<Sandbox> {
    const choice = chooseFor(spec, this.#tools.settings);
    const log = launches ?? FORGETFUL;
    const isRepeat = launches === undefined || launches.last !== null;
    const found = isRepeat ? await findLaunched(this.#tools, spec.attemptId) : undefined;
    const instance =
      found ?? (await launchMachine(this.#tools, { spec, choice, log, userData: await this.#userData(spec, choice) }));
    return sandboxOf(instance, spec, choice.image);
  }

  async #userData(spec: SandboxSpec, { image: { os, kind } }: Ec2Choice): Promise<string> {
    const { privilege, expiresAt, resolution } = spec;
    const archive = await this.#boot.archive();
    try {
      return bootScript({ os, kind, privilege, expiresAt, resolution, archive });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const message = `no boot script can be made for ${spec.attemptId}: ${error.message}`;
      throw new ExamHallError('SandboxRefusedError', message, { provider: this.name, snapshot: spec.snapshot }, error);
    }
  }

  async describe({ sandboxId, launchedAt }: Pick<Sandbox, 'sandboxId' | 'launchedAt'>): Promise<SandboxState> {
    const { instance, status } = await this.#tools.lookup.seen(sandboxId);
    const now = this.#tools.clock.now();
    const isNew = mayBeTooNew(launchedAt, now);
    if (instance === undefined) return isNew ? { state: 'pending' } : { state: 'gone', evidence: null };
    const seen = stateOf(instance, status, now);
    return isNew || isOurs(instance.Tags, this.#tools.settings) ? seen : notOurs(seen);
  }

  async release(sandbox: SandboxToRelease, mode: ReleaseMode): Promise<ReleaseReport> {
    return mode === 'delete' ? await deleteSandbox(this.#tools, sandbox) : await setAside(this.#tools, sandbox, mode);
  }

  async list(cursor?: string): ReturnType<SandboxProvider['list']> {
    return await listSandboxes(this.#tools.lookup, this.#tools.settings, cursor);
  }

  offer(wish: SandboxWish): SandboxOffer | null {
    return offerFor(wish, this.#tools.settings);
  }

  refusal(wish: SandboxWish): string | null {
    return refusalFor(wish, this.#tools.settings);
  }

  async bootEvidence({ sandboxId }: Pick<Sandbox, 'sandboxId'>): Promise<BootEvidence> {
    return await bootEvidenceOf(this.#tools.client, sandboxId);
  }
}
