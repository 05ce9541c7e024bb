import { AnswerLost, ServiceError } from './service-error.ts';

export interface EventFault {
  /** 0 loses the event, 2 tells it twice. */
  readonly copies?: number;
  readonly lateSeconds?: number;
}

/** What happens to the next machine that is launched. */
export interface MachineFault {
  /** So many looks at it by its id or by filters do not find it. */
  readonly hiddenLooks?: number;
  readonly neverOnline?: boolean;
  readonly onlineSeconds?: number;
  /** Its volumes and interfaces outlive it, whatever was asked. */
  readonly leavesParts?: boolean;
  /** How long ending it takes; what runs on it runs on until then. `SkipOsShutdown` ends it in the usual time. */
  readonly terminateSeconds?: number;
  readonly blackScreen?: boolean;
  /** For Windows: nobody is logged on at the console. */
  readonly noSession?: boolean;
}

interface Countdown {
  left: number;
}

/** What goes wrong, on command. Numbers of times are counted down; the default is once. */
export class CloudFaults {
  /** No more vCPUs than these at once; null for any number. */
  vCpuQuota: number | null = null;
  readonly #soldOut = new Map<string, Countdown>();
  readonly #throttled = new Map<string, Countdown>();
  readonly #lost = new Map<string, Countdown>();
  readonly #refused = new Map<string, { readonly error: ServiceError; readonly count: Countdown }>();
  readonly #machines: MachineFault[] = [];
  readonly #events: { readonly fault: EventFault; readonly document: string | null }[] = [];

  /** `*` stands for any type or zone. */
  sellOut(type: string, zone: string, times = Number.POSITIVE_INFINITY): void {
    this.#soldOut.set(`${type} ${zone}`, { left: times });
  }

  restock(): void {
    this.#soldOut.clear();
  }

  /** The next calls of an operation are answered by its service's throttling error, without an effect. */
  throttle(operation: string, times = 1): void {
    this.#throttled.set(operation, { left: times });
  }

  /** The next calls of an operation have their effect, and no answer. A client's own retries count as calls. */
  loseAnswers(operation: string, times = 1): void {
    this.#lost.set(operation, { left: times });
  }

  refuse(operation: string, code: string, times = 1): void {
    const error = new ServiceError(code, `${operation} is refused on purpose`);
    this.#refused.set(operation, { error, count: { left: times } });
  }

  /** Queues what the machines launched next suffer, one each. */
  nextMachine(...faults: readonly MachineFault[]): void {
    this.#machines.push(...faults);
  }

  /** Queues what becomes of the next terminal status events, of one document's commands or of any. */
  nextEvent(fault: EventFault, document: string | null = null): void {
    this.#events.push({ fault, document });
  }

  /** @throws ServiceError as told. */
  beforeCall(operation: string): void {
    const refused = this.#refused.get(operation);
    if (refused !== undefined && strikes(refused.count)) throw refused.error;
    if (!strikes(this.#throttled.get(operation))) return;
    const isEc2 = !SSM_OPERATIONS.has(operation);
    throw isEc2
      ? new ServiceError('RequestLimitExceeded', 'Request limit exceeded.', 503)
      : new ServiceError('ThrottlingException', 'Rate exceeded', 400);
  }

  /** @throws AnswerLost as told. */
  afterCall(operation: string): void {
    if (strikes(this.#lost.get(operation))) throw new AnswerLost(`the answer of ${operation} is lost`);
  }

  /** What was asked for and has not struck as often as that. */
  get pending(): readonly string[] {
    const counted = [...this.#throttled, ...this.#lost].map(([name, count]) => [name, count] as const);
    const refused = [...this.#refused].map(([name, { count }]) => [name, count] as const);
    return [
      ...[...counted, ...refused].filter(([, { left }]) => left > 0).map(([name]) => name),
      ...this.#machines.map(() => 'machine'),
      ...this.#events.map(() => 'event'),
    ];
  }

  isSoldOut(type: string, zone: string): boolean {
    return [`${type} ${zone}`, `* ${zone}`, `${type} *`, '* *'].some((pool) => strikes(this.#soldOut.get(pool)));
  }

  takeMachine(): MachineFault {
    return this.#machines.shift() ?? {};
  }

  takeEvent(document: string): EventFault {
    const index = this.#events.findIndex((one) => one.document === null || one.document === document);
    return index === -1 ? {} : (this.#events.splice(index, 1)[0]?.fault ?? {});
  }
}

const SSM_OPERATIONS = new Set([
  'SendCommand',
  'GetCommandInvocation',
  'ListCommandInvocations',
  'ListCommands',
  'CancelCommand',
  'DescribeInstanceInformation',
  'GetParameter',
]);

function strikes(count: Countdown | undefined): boolean {
  if (count === undefined || count.left <= 0) return false;
  count.left -= 1;
  return true;
}
