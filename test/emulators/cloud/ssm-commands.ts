import { randomUUID } from 'node:crypto';
import type { CommandInvocationStatus } from '@aws-sdk/client-ssm';
import type { HostClock } from '#local/clock';
import type { CloudFaults } from './cloud-faults.ts';
import type { MachineRecord } from './machine-record.ts';
import type { PlannedStep } from './ssm-documents.ts';

export interface StepRecord {
  readonly name: string;
  status: CommandInvocationStatus;
  exitCode: number;
  stdout: string;
  stderr: string;
}

export interface CommandRecord {
  readonly commandId: string;
  readonly document: string;
  readonly machine: MachineRecord;
  readonly parameters: Readonly<Record<string, readonly string[]>>;
  readonly comment: string;
  readonly requestedAt: number;
  readonly deliverySeconds: number;
  readonly plan: readonly PlannedStep[];
  readonly steps: StepRecord[];
  status: CommandInvocationStatus;
  details: string;
  /** So many looks do not find it yet. */
  hiddenLooks: number;
  kill: () => void;
  /** A virtual clock goes on although the command has not ended. */
  letTimePass: () => void;
}

/** What the event bus is told of a command on one machine. */
export interface CommandEvent {
  readonly 'command-id': string;
  readonly 'instance-id': string;
  readonly 'document-name': string;
  readonly 'requested-date-time': string;
  readonly status: string;
}

/** A script on a machine, however it is run. */
export interface RunningScript {
  readonly ended: Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;
  kill(): void;
}

export interface CommandsOptions {
  readonly clock: HostClock;
  readonly faults: CloudFaults;
  readonly isOnline: (machine: MachineRecord) => boolean;
  readonly run: (machine: MachineRecord, step: PlannedStep) => Promise<RunningScript>;
  readonly onEvent: (event: CommandEvent) => void;
}

/** An agent takes no more commands at once. */
const WORKERS = 5;
const ENDED = new Set<CommandInvocationStatus>(['Success', 'Failed', 'TimedOut', 'Cancelled']);

/** Commands from being sent to their end. */
export class Commands {
  readonly all = new Map<string, CommandRecord>();
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /** What all commands have printed, as whoever may list commands reads it. */
  get printed(): readonly string[] {
    return [...this.all.values()].flatMap(({ steps }) => steps.flatMap(({ stdout, stderr }) => [stdout, stderr]));
  }

  send(
    command: Omit<CommandRecord, 'commandId' | 'steps' | 'status' | 'details' | 'kill' | 'letTimePass' | 'requestedAt'>,
  ): CommandRecord {
    const { clock } = this.#options;
    const record: CommandRecord = {
      ...command,
      commandId: randomUUID(),
      requestedAt: clock.now().getTime(),
      steps: command.plan.map(({ name }) => ({ name, status: 'Pending', exitCode: -1, stdout: '', stderr: '' })),
      status: 'Pending',
      details: 'Pending',
      kill: () => undefined,
      letTimePass: () => undefined,
    };
    this.all.set(record.commandId, record);
    const late = (): void => {
      if (record.status === 'Pending') this.#end(record, 'TimedOut', 'Delivery Timed Out');
    };
    clock.setTimer(command.deliverySeconds * 1000, late, { background: true });
    this.#deliver();
    return record;
  }

  cancel(record: CommandRecord): void {
    if (ENDED.has(record.status)) return;
    this.#end(record, 'Cancelled', 'Cancelled');
    record.kill();
  }

  /** Virtual time stands still while scripts run, until it is told not to wait for those that run now. */
  letTimePass(): void {
    for (const record of this.all.values()) if (record.status === 'InProgress') record.letTimePass();
  }

  /** Nothing answers from a machine that is gone: its commands stay as they are. */
  forget(instanceId: string): void {
    for (const record of this.all.values()) if (record.machine.instanceId === instanceId) record.kill();
  }

  /** Gives agents that are free what waits for them. */
  #deliver(): void {
    for (const record of this.all.values()) {
      if (record.status !== 'Pending' || !this.#options.isOnline(record.machine)) continue;
      if (this.#runningOn(record.machine) < WORKERS) this.#begin(record);
    }
  }

  #runningOn(machine: MachineRecord): number {
    return [...this.all.values()].filter((each) => each.machine === machine && each.status === 'InProgress').length;
  }

  #begin(record: CommandRecord): void {
    record.status = 'InProgress';
    record.details = 'In Progress';
    this.#tell(record, {});
    const abort = new AbortController();
    record.kill = () => abort.abort();
    // Real work: a virtual clock stands still until the script ends, or can never end.
    const work = this.#run(record, abort.signal).finally(() => this.#deliver());
    const untracked = new AbortController();
    record.letTimePass = () => untracked.abort();
    void this.#options.clock.track(work, AbortSignal.any([abort.signal, untracked.signal]));
  }

  async #run(record: CommandRecord, signal: AbortSignal): Promise<void> {
    for (const [index, planned] of record.plan.entries()) {
      const step = record.steps[index];
      if (step === undefined) return;
      if (planned.refusal === null && planned.skipped !== null) {
        Object.assign(step, { status: 'Success', exitCode: 0, stdout: planned.skipped });
        continue;
      }
      const end = await this.#runStep(record, planned, signal);
      if (signal.aborted) return;
      Object.assign(step, end);
      if (end.status === 'Success') continue;
      this.#end(record, end.status, end.status === 'TimedOut' ? 'Execution Timed Out' : 'Failed');
      return;
    }
    this.#end(record, 'Success', 'Success');
  }

  async #runStep(record: CommandRecord, planned: PlannedStep, signal: AbortSignal): Promise<StepEnd> {
    const { clock, run } = this.#options;
    if (planned.refusal !== null) return { status: 'Failed', exitCode: 1, stdout: '', stderr: planned.refusal };
    const late = new AbortController();
    try {
      const script = await run(record.machine, planned);
      const kill = (): void => script.kill();
      if (signal.aborted) kill();
      signal.addEventListener('abort', kill);
      late.signal.addEventListener('abort', kill);
      const cancel = clock.setTimer(planned.timeoutSeconds * 1000, () => late.abort(), { background: true });
      const { exitCode, stdout, stderr } = await script.ended;
      cancel();
      signal.removeEventListener('abort', kill);
      const status = late.signal.aborted ? 'TimedOut' : exitCode === 0 ? 'Success' : 'Failed';
      return { status, exitCode, stdout, stderr };
    } catch (error) {
      return { status: 'Failed', exitCode: 1, stdout: '', stderr: String(error) };
    }
  }

  #end(record: CommandRecord, status: CommandInvocationStatus, details: string): void {
    if (ENDED.has(record.status)) return;
    record.status = status;
    record.details = details;
    this.#tell(record, this.#options.faults.takeEvent(record.document));
  }

  #tell(record: CommandRecord, { copies = 1, lateSeconds = 0 }: { copies?: number; lateSeconds?: number }): void {
    const { clock, onEvent } = this.#options;
    const event: CommandEvent = {
      'command-id': record.commandId,
      'instance-id': record.machine.instanceId,
      'document-name': record.document,
      'requested-date-time': new Date(record.requestedAt).toISOString(),
      status: record.status,
    };
    for (let copy = 0; copy < copies; copy += 1) {
      if (lateSeconds === 0) onEvent(event);
      else clock.setTimer(lateSeconds * 1000, () => onEvent(event), { background: true });
    }
  }
}

interface StepEnd {
  readonly status: CommandInvocationStatus;
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}
