import { isLive, paint } from '#cli/style';

interface RunningUnit {
  readonly unitId: string;
  readonly stage: string;
}

/** Stage of a function, as people know it. */
const STAGE_OF_FUNCTION: Readonly<Record<string, string>> = {
  'provision-sandbox': 'provision',
  'await-sandbox': 'provision',
  'stage-unit': 'stage',
  'set-up-task': 'set up',
  'run-agent': 'run agent',
  'collect-output': 'collect',
  'grade-unit': 'grade',
  'release-sandbox': 'release',
  'record-unit': 'record',
};

/**
 * Follows a sweep by its log lines: a status line that is rewritten on a terminal, plain lines elsewhere.
 * Without a stream it only counts.
 */
export class Progress {
  readonly closed = new Set<string>();
  readonly #stream: NodeJS.WriteStream | null;
  readonly #running = new Map<string, RunningUnit>();
  readonly #stageSeconds = new Map<string, number>();
  readonly #stageSince = new Map<string, { readonly stage: string; readonly at: number }>();
  #planned = 0;
  #hasStatus = false;
  #isOpen = false;

  constructor(stream: NodeJS.WriteStream | null) {
    this.#stream = stream;
  }

  start(planned: number): void {
    this.#planned = planned;
    this.#isOpen = true;
    this.line(`${String(planned)} units planned`);
  }

  log(event: string, fields: Readonly<Record<string, unknown>>): void {
    const unitId = fields['unitId'];
    if (typeof unitId !== 'string') return;
    if (event === 'function.started') this.#enter(unitId, String(fields['function']));
    if (event === 'attempt.closed') {
      this.#leave(unitId);
      if (fields['retry'] === true) this.line(`${unitId}: another attempt follows (${String(fields['signature'])})`);
    }
    if (event !== 'unit.closed' || this.closed.has(unitId)) return;
    this.closed.add(unitId);
    this.#leave(unitId);
    this.line(`[${String(this.closed.size)}/${String(this.#planned)}] ${unitId}`);
  }

  /** Prints a line of its own, above the status. */
  line(text: string): void {
    this.#clearStatus();
    this.#stream?.write(`${text}\n`);
    this.#showStatus();
  }

  /** Removes the status line. Safe to repeat. */
  end(): void {
    this.#clearStatus();
    this.#isOpen = false;
  }

  /** Seconds spent in each stage, over all units together. */
  stageSeconds(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#stageSeconds);
  }

  #enter(unitId: string, name: string): void {
    const stage = STAGE_OF_FUNCTION[name];
    if (stage === undefined) return;
    this.#settle(unitId);
    this.#stageSince.set(unitId, { stage, at: performance.now() });
    this.#running.set(unitId, { unitId, stage });
    this.#showStatus();
  }

  #leave(unitId: string): void {
    this.#settle(unitId);
    this.#stageSince.delete(unitId);
    this.#running.delete(unitId);
  }

  #settle(unitId: string): void {
    const since = this.#stageSince.get(unitId);
    if (since === undefined) return;
    const spent = (performance.now() - since.at) / 1000;
    this.#stageSeconds.set(since.stage, (this.#stageSeconds.get(since.stage) ?? 0) + spent);
  }

  #showStatus(): void {
    const stream = this.#stream;
    if (stream === null || !this.#isOpen || !isLive(stream)) return;
    const counts = new Map<string, number>();
    for (const { stage } of this.#running.values()) counts.set(stage, (counts.get(stage) ?? 0) + 1);
    const stages = [...counts].map(([stage, count]) => `${String(count)} ${stage}`).join(', ');
    const text = `${String(this.closed.size)}/${String(this.#planned)} closed; ${stages === '' ? 'waiting' : stages}`;
    this.#clearStatus();
    stream.write(paint('dim', text.slice(0, Math.max(20, stream.columns - 1)), stream));
    this.#hasStatus = true;
  }

  #clearStatus(): void {
    if (!this.#hasStatus) return;
    this.#stream?.write('\r\u001b[2K');
    this.#hasStatus = false;
  }
}
