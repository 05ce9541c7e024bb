import type { Events, Executions, Ids, TaskTokens, Timers } from '#ports/hosting';
import type { Log } from '#ports/ports';

export type TokenAnswer = { readonly output: unknown } | { readonly error: string; readonly cause: string };

/** Tokens in memory. A token answers once; those in `gone` never do. */
export class FakeTokens implements TaskTokens {
  readonly answers = new Map<string, TokenAnswer>();
  readonly beats: string[] = [];
  readonly gone = new Set<string>();
  #failures: Error[] = [];

  /** The next call rejects with this error and does nothing. */
  failNext(error: Error): void {
    this.#failures.push(error);
  }

  async succeed(token: string, output: unknown): Promise<boolean> {
    return this.#take(token, { output: JSON.parse(JSON.stringify(output)) as unknown });
  }

  async fail(token: string, error: string, cause: string): Promise<boolean> {
    return this.#take(token, { error, cause });
  }

  async heartbeat(token: string): Promise<boolean> {
    this.#mayFail();
    if (this.gone.has(token)) return false;
    this.beats.push(token);
    return true;
  }

  #take(token: string, answer: TokenAnswer): boolean {
    this.#mayFail();
    if (this.gone.has(token)) return false;
    this.answers.set(token, answer);
    this.gone.add(token);
    return true;
  }

  #mayFail(): void {
    const error = this.#failures.shift();
    if (error !== undefined) throw error;
  }
}

/** Starts nothing; the same name with the same input is the same execution. */
export class FakeExecutions implements Executions {
  readonly started = new Map<string, { readonly machine: string; readonly input: unknown }>();
  readonly stopped: string[] = [];

  async start(machine: 'sweep' | 'unit' | 'grade', name: string, input: unknown): Promise<{ executionArn: string }> {
    const known = this.started.get(name);
    if (known !== undefined && JSON.stringify(known.input) !== JSON.stringify(input))
      throw Object.assign(new Error(`${name} runs with another input`), { name: 'ExecutionAlreadyExists' });
    this.started.set(name, { machine, input });
    return { executionArn: `arn:${machine}:${name}` };
  }

  async stop(executionArn: string): Promise<void> {
    this.stopped.push(executionArn);
  }
}

export class FakeTimers implements Timers {
  readonly pending = new Map<string, { readonly atIso: string; readonly payload: Readonly<Record<string, unknown>> }>();

  async create(name: string, atIso: string, payload: Readonly<Record<string, unknown>>): Promise<void> {
    if (!this.pending.has(name)) this.pending.set(name, { atIso, payload });
  }

  async remove(name: string): Promise<void> {
    this.pending.delete(name);
  }

  async exists(name: string): Promise<boolean> {
    return this.pending.has(name);
  }
}

export class FakeEvents implements Events {
  readonly published: { readonly detailType: string; readonly detail: Readonly<Record<string, unknown>> }[] = [];

  async publish(detailType: string, detail: Readonly<Record<string, unknown>>): Promise<void> {
    this.published.push({ detailType, detail });
  }
}

export function fakeIds(): Ids {
  let number = 0;
  let secrets = 0;
  return {
    next: () => `id-${String((number += 1))}`,
    secret: () => String((secrets += 1)).padStart(64, '5ec4e7'),
  };
}

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Keeps every line. */
export class FakeLog implements Log {
  readonly lines: LogLine[] = [];

  info(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.lines.push({ level: 'info', event, fields });
  }

  warn(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.lines.push({ level: 'warn', event, fields });
  }

  error(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.lines.push({ level: 'error', event, fields });
  }

  /** Events of the lines, in order. */
  get events(): readonly string[] {
    return this.lines.map(({ event }) => event);
  }
}
