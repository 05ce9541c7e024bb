import { EVENT_SOURCE, EXECUTION_SOURCE, EXECUTION_STATUS_TYPE } from '#contracts/events';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import { FUNCTIONS } from '#contracts/functions';
import type { AslHost, ExecutionEvent, HistoryEvent } from '#local/asl/host';
import { Interpreter, type ExecutionHandle } from '#local/asl/interpreter';
import type { HostClock } from '#local/clock';
import { EventBus, type BusEvent, type DeliveryFault } from '#local/event-bus';
import { Schedules } from '#local/schedules';
import type { Events, Timers } from '#ports/hosting';
import type { Ports } from '#ports/ports';
import { absentPort } from '#runtime/absent-port';
import { nodeDigest } from '#runtime/digest';
import { systemIds } from '#runtime/ids';
import { composeThumbnailer } from '#runtime/thumbnailer';
import { AsyncInvocations } from './async-invocations.ts';
import { FunctionRunner } from './function-runner.ts';
import { createExecutions, createTokens } from './host-ports.ts';
import { sourceCode, type HostCode } from './host-code.ts';

/** Ports that the host cannot make by itself. */
export type GivenPorts = Omit<
  Ports,
  | 'clock'
  | 'ids'
  | 'events'
  | 'tokens'
  | 'executions'
  | 'timers'
  | 'digest'
  | 'thumbnails'
  | 'region'
  | 'guestCalls'
  | 'guestHosts'
> &
  Partial<Pick<Ports, 'region' | 'guestCalls' | 'guestHosts'>>;

export interface HostOptions {
  readonly clock: HostClock;
  readonly ports: GivenPorts;
  /** Told of every execution's status change. */
  readonly onExecution?: (event: ExecutionEvent) => void;
  /** Told of every history event as it is counted. */
  readonly onHistory?: (event: HistoryEvent) => void;
  /** What may go wrong, for tests. */
  readonly faults?: HostFaults;
  /** Handlers and machines; default this repository's sources. */
  readonly code?: HostCode;
}

export interface HostFaults {
  /** Draws the jitter of retries, in [0, 1). */
  readonly random?: () => number;
  readonly event?: (rule: string, event: BusEvent) => DeliveryFault | undefined;
  /** Stands between the host and a function; `call` may be left out, or its answer lost. */
  readonly invocation?: (name: string, call: () => Promise<string>, payloadJson: string) => Promise<string>;
}

const callAtOnce: NonNullable<HostFaults['invocation']> = async (_, call) => await call();

/** The pipeline on one computer: the same machines, functions and triggers as in the cloud, in this process. */
export class EmbeddedHost {
  readonly interpreter: Interpreter;
  readonly ports: Ports;
  readonly invocations: AsyncInvocations;
  readonly #runner: FunctionRunner;
  readonly #bus: EventBus;
  readonly #schedules: Schedules;
  readonly #clock: HostClock;

  private constructor(options: HostOptions, code: HostCode) {
    const { clock } = options;
    this.#clock = clock;
    this.#runner = new FunctionRunner(() => this.ports, clock, code.handlerFile);
    const { random, event: fault, invocation = callAtOnce } = options.faults ?? {};
    const invoke = async (name: string, json: string): Promise<string> =>
      await invocation(name, async () => await this.#runner.invoke(name, json), json);
    this.invocations = new AsyncInvocations(invoke, clock, ({ name, error }) => {
      this.ports.log.error('invocation.set-aside', { function: name, message: String(error) });
    });
    this.#bus = new EventBus({ clock, ...(fault === undefined ? {} : { fault }) });
    this.#schedules = new Schedules({ clock });
    const host: AslHost = {
      clock,
      invoke: async (text, json) => await invoke(code.functionNamed(text), json),
      readObject: async (bucket, key) => await this.#readObject(bucket, key),
      writeObject: async (bucket, key, body) => {
        await this.ports.artifacts.put({ bucket: bucketNamed(bucket), key }, body);
      },
      newToken: () => systemIds.next(),
      newId: () => systemIds.next(),
      onExecutionEvent: (event) => {
        this.#publishStatus(event);
        options.onExecution?.(event);
      },
      ...(options.onHistory === undefined ? {} : { onHistoryEvent: options.onHistory }),
    };
    this.interpreter = new Interpreter(host, random === undefined ? {} : { random });
    this.ports = {
      region: null,
      guestCalls: absentPort('guestCalls'),
      guestHosts: [],
      ...options.ports,
      clock,
      ids: systemIds,
      digest: nodeDigest,
      thumbnails: composeThumbnailer(),
      events: this.#events(),
      timers: this.#timers(),
      tokens: createTokens(() => this.interpreter),
      executions: createExecutions(() => this.interpreter),
    };
  }

  /** Loads machines, rules and schedules; nothing runs until an execution is started. */
  static async create(options: HostOptions): Promise<EmbeddedHost> {
    const code = options.code ?? (await sourceCode());
    const host = new EmbeddedHost(options, code);
    await host.#runner.loadAll();
    for (const [name, definition] of Object.entries(code.machines)) host.interpreter.register(name, definition);
    for (const declaration of FUNCTIONS) host.#wire(declaration);
    return host;
  }

  startSweep(sweepId: string, run: number): ExecutionHandle {
    return this.interpreter.start('sweep', { name: `${sweepId}-r${String(run)}`, input: { sweepId, run } });
  }

  /** Calls a function at once and waits for its answer. */
  async invoke(name: string, payload: unknown): Promise<unknown> {
    return JSON.parse(await this.#clock.track(this.#runner.invoke(name, JSON.stringify(payload)))) as unknown;
  }

  /** Tells the bus what another service of the cloud says. */
  publish(event: Pick<BusEvent, 'source' | 'detailType' | 'detail'>): void {
    this.#bus.publish(event);
  }

  /** Stops triggers; executions that run are left to their owner. */
  close(): void {
    this.#schedules.close();
    this.#bus.close();
    this.invocations.close();
  }

  #wire(declaration: FunctionDeclaration): void {
    const { trigger, name } = declaration;
    const every = trigger.kind === 'schedule' || trigger.kind === 'event' ? trigger.everySeconds : undefined;
    if (every !== undefined) {
      this.#schedules.every(name, every, () => {
        this.invocations.enqueue(declaration, '{}');
      });
    }
    if (trigger.kind !== 'event') return;
    for (const [index, { source, detailTypes, detail }] of [trigger, ...(trigger.also ?? [])].entries()) {
      this.#bus.addRule({
        name: index === 0 ? name : `${name} ${String(index + 1)}`,
        pattern: {
          source: [source],
          'detail-type': [...detailTypes],
          ...(detail === undefined ? {} : { detail: { ...detail } }),
        },
        target: (event) => {
          this.invocations.enqueue(declaration, JSON.stringify(event.detail));
          return Promise.resolve();
        },
      });
    }
  }

  #events(): Events {
    return {
      publish: (detailType, detail) => {
        this.#bus.publish({ source: EVENT_SOURCE, detailType, detail });
        return Promise.resolve();
      },
    };
  }

  #timers(): Timers {
    const declaration = FUNCTIONS.find(({ trigger }) => trigger.kind === 'timer');
    return {
      create: (name, atIso, payload) => {
        this.#schedules.at(name, new Date(atIso), () => {
          if (declaration !== undefined) this.invocations.enqueue(declaration, JSON.stringify(payload));
        });
        return Promise.resolve();
      },
      remove: (name) => {
        this.#schedules.remove(name);
        return Promise.resolve();
      },
      exists: (name) => Promise.resolve(this.#schedules.has(name)),
    };
  }

  #publishStatus(event: ExecutionEvent): void {
    const { type, executionArn, name, stateMachineName, input, error, cause } = event;
    const detail = {
      status: type,
      executionArn,
      name,
      stateMachineName,
      input,
      error: error ?? null,
      cause: cause ?? null,
    };
    this.#bus.publish({ source: EXECUTION_SOURCE, detailType: EXECUTION_STATUS_TYPE, detail });
  }

  async #readObject(bucket: string, key: string): Promise<string> {
    return new TextDecoder().decode(await this.ports.artifacts.get({ bucket: bucketNamed(bucket), key }));
  }
}

function bucketNamed(name: string): 'artifacts' | 'tasks' | 'references' {
  if (name === 'artifacts' || name === 'tasks' || name === 'references') return name;
  throw new TypeError(`there is no bucket ${JSON.stringify(name)}; allowed: artifacts, tasks, references`);
}
