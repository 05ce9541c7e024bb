import {
  DescribeInstanceInformationCommand,
  ListCommandInvocationsCommand,
  SendCommandCommand,
  type SSMClient,
} from '@aws-sdk/client-ssm';
import { ExamHallError } from '#core/errors';
import { EXECUTION_SECONDS, REQUEST_PARAMETER, type GuestDocumentKind } from '#core/guest-documents';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { Clock } from '#ports/clock';
import type { Sandbox } from '#ports/sandbox-provider';
import { callService, isAnswerNamed } from './aws-service-fault.ts';

export interface SsmCommandsOptions {
  readonly ssm: SSMClient;
  readonly documents: SandboxSettings['documents'];
  readonly clock: Clock;
}

type Machine = Pick<Sandbox, 'sandboxId' | 'os'>;

/** How a command ended on one machine. */
interface EndedCommand {
  readonly isDone: boolean;
  /** What was printed, cut by the service at 2,500 characters. */
  readonly output: string;
  /** For people: the service's words. */
  readonly how: string;
}

const SERVICE = 'Systems Manager';
/**
 * How long a command may take to reach the machine; how long its script may take stands in the document. A machine that is
 * ready takes one within a second or two.
 */
const DELIVERY_SECONDS = 60;
const LOOK_SECONDS = [0.3, 0.3, 0.5, 0.7, 1, 1.5];
const LAST_LOOK_SECONDS = 2;
const UNENDED = new Set(['Pending', 'InProgress', 'Delayed', 'Cancelling']);

/** Sends documents to machines and follows what becomes of them. */
export class SsmCommands {
  readonly #options: SsmCommandsOptions;

  constructor(options: SsmCommandsOptions) {
    this.#options = options;
  }

  /**
   * Sends a document to one machine. @returns the id of the command.
   * @throws ChannelUnavailableError when the machine is not, or no longer, registered.
   */
  async send(kind: GuestDocumentKind, sandboxId: string, request: string): Promise<string> {
    const input = {
      DocumentName: this.#options.documents[kind],
      InstanceIds: [sandboxId],
      Parameters: { [REQUEST_PARAMETER]: [request] },
      TimeoutSeconds: DELIVERY_SECONDS,
    };
    try {
      const { Command } = await callService(SERVICE, () => this.#options.ssm.send(new SendCommandCommand(input)));
      if (Command?.CommandId !== undefined) return Command.CommandId;
    } catch (error) {
      if (!isAnswerNamed(error, 'InvalidInstanceId')) throw error;
      const why = `${SERVICE} does not know the machine: it is not ready, gone, or cannot reach the service`;
      throw unavailable(sandboxId, why, error);
    }
    throw unavailable(sandboxId, `${SERVICE} took a command and gave it no id`);
  }

  /** Looks until the command has ended, at most so long. Undefined when it has not by then. */
  async ended(machine: Machine, commandId: string, limitSeconds: number): Promise<EndedCommand | undefined> {
    const until = this.#now() + limitSeconds * 1000;
    for (let turn = 0; ; turn += 1) {
      const ended = await this.#look(machine, commandId);
      if (ended !== undefined) return ended;
      const pause = (LOOK_SECONDS[turn] ?? LAST_LOOK_SECONDS) * 1000;
      if (this.#now() + pause > until) return undefined;
      await this.#options.clock.sleep(pause);
    }
  }

  /** Right after it was sent a command is not known everywhere: it has not ended then. */
  async #look({ sandboxId, os }: Machine, commandId: string): Promise<EndedCommand | undefined> {
    const input = { CommandId: commandId, InstanceId: sandboxId, Details: true };
    const list = () => this.#options.ssm.send(new ListCommandInvocationsCommand(input));
    const { CommandInvocations = [] } = await callService(SERVICE, list).catch((error: unknown) => {
      if (isAnswerNamed(error, 'InvalidCommandId', 'InvocationDoesNotExist')) return { CommandInvocations: [] };
      throw error;
    });
    const [invocation] = CommandInvocations;
    const status = invocation?.Status;
    if (invocation === undefined || status === undefined || UNENDED.has(status)) return undefined;
    // The other system's step was skipped, and says so.
    const output = invocation.CommandPlugins?.find(({ Name }) => Name === os)?.Output ?? '';
    return { isDone: status === 'Success', output, how: invocation.StatusDetails ?? status };
  }

  /** Whether the machine's agent has said that it lives, lately. */
  async isOnline(sandboxId: string): Promise<boolean> {
    const input = { Filters: [{ Key: 'InstanceIds', Values: [sandboxId] }] };
    const describe = () => this.#options.ssm.send(new DescribeInstanceInformationCommand(input));
    const { InstanceInformationList = [] } = await callService(SERVICE, describe);
    return InstanceInformationList.some((each) => each.InstanceId === sandboxId && each.PingStatus === 'Online');
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

/** What a command's end means when it was not done; delivery and execution have limits of their own. */
export function whyNotDone(kind: GuestDocumentKind, { how, output }: EndedCommand): string {
  const word = how.replaceAll(' ', '');
  if (word === 'DeliveryTimedOut' || word === 'Undeliverable')
    return `the command did not reach the machine within ${String(DELIVERY_SECONDS)} s (${how})`;
  if (word === 'ExecutionTimedOut' || word === 'TimedOut')
    return `the runner took longer than the ${String(EXECUTION_SECONDS[kind])} s of its document (${how})`;
  return `the command ended with ${how}: ${output.trim().slice(-500) || 'no output'}`;
}

/** @returns the error of a guest that cannot be used. */
export function unavailable(sandboxId: string, why: string, cause?: unknown): ExamHallError {
  const message = `the guest of ${sandboxId} cannot be used: ${why}`;
  return new ExamHallError('ChannelUnavailableError', message, { sandboxId }, cause);
}
