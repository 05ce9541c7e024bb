import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CuaPty, PtyOptions, PtyStarted } from '#adapters/cua-client-pty';
import { createTurns } from './mcp-turns.ts';
import { createOutputBuffer } from './vm-primitives-output.ts';

/** How much unread output of one terminal is kept. */
export const OUTPUT_LIMIT_BYTES = 2_000_000;

export interface TerminalOutput {
  readonly text: string;
  /** Older output was dropped, or may have been missed while the connection was down. */
  readonly isCut: boolean;
  /** Null while it runs; the code is null when nobody could say. */
  readonly exited: { readonly code: number | null } | null;
}

export interface TerminalHost {
  readonly pty: CuaPty;
  /** True when the machine's shell is a POSIX one. */
  readonly isPosix: boolean;
  /** Whether a process is there; asked when the stream was cut. */
  isAlive(pid: number): Promise<boolean>;
}

const GATE_MS = 15_000;
const REOPEN_DELAYS_MS = [100, 500, 2_000];
const LAST_WORDS_MS = 1_000;

/**
 * Starts a terminal and misses nothing of it: the server keeps no output, so a gate holds the program back until the stream
 * is open. On Windows there is no gate, and the very first output may be missing.
 */
export async function startTerminal(host: TerminalHost, options: PtyOptions): Promise<Terminal> {
  const mark = host.isPosix ? `<${randomBytes(12).toString('hex')}>` : null;
  const command = mark === null ? options.command : gateScript(options.command ?? 'bash', mark);
  const started = await host.pty.start({ ...options, ...(command === undefined ? {} : { command }) });
  const terminal = new Terminal(host, started, mark);
  try {
    await terminal.follow();
    if (mark !== null) await terminal.openGate();
    return terminal;
  } catch (error) {
    await terminal.kill().catch(() => undefined);
    throw error;
  }
}

/**
 * A shell line that takes the terminal as its own (so that Ctrl-C reaches the program), waits for one line of input, says
 * the mark, and becomes the command.
 */
export function gateScript(command: string, mark: string): string {
  const quoted = `'${command.replaceAll("'", `'\\''`)}'`;
  return [
    't=$(tty 2>/dev/null) && [ -c "$t" ] && exec 0<>"$t" 1>&0 2>&0',
    'stty -echo 2>/dev/null',
    'IFS= read -r t',
    'unset t',
    'stty echo 2>/dev/null',
    `printf %s '${mark}'`,
    `exec /bin/sh -c ${quoted}`,
  ].join('; ');
}

/** A terminal on the machine, from its first byte of output to its exit. */
export class Terminal {
  readonly pid: number;
  readonly cols: number;
  readonly rows: number;
  readonly #host: TerminalHost;
  readonly #output = createOutputBuffer(OUTPUT_LIMIT_BYTES);
  readonly #inputs = createTurns();
  readonly #closing = new AbortController();
  readonly #mark: string | null;
  /** What came before the gate opened; null once it is open. */
  #beforeGate: Buffer | null;
  #exited: TerminalOutput['exited'] = null;
  #hasGap = false;
  readonly #waiting = new Set<() => void>();

  constructor(host: TerminalHost, started: PtyStarted, mark: string | null) {
    this.#host = host;
    this.pid = started.pid;
    this.cols = started.cols;
    this.rows = started.rows;
    this.#mark = mark;
    this.#beforeGate = mark === null ? null : Buffer.alloc(0);
  }

  /** Resolves when the server has begun to pass output on. */
  async follow(): Promise<void> {
    const listener = { output: (bytes: Buffer) => this.#take(bytes), exit: (code: number) => this.#end(code) };
    const { ended } = await this.#host.pty.follow(this.pid, listener, this.#closing.signal);
    ended.catch(() => (this.#closing.signal.aborted ? undefined : this.#resume()));
  }

  /** @throws Error when the program has not begun in time. */
  async openGate(): Promise<void> {
    await this.input(Buffer.from('\n'));
    await this.#until(() => this.#beforeGate === null || this.#exited !== null, GATE_MS, this.#closing.signal);
    if (this.#beforeGate === null || this.#exited !== null) return;
    throw new Error(`the terminal ${this.pid} did not begin its program within ${GATE_MS / 1_000} s`);
  }

  /** Whole inputs follow one another, however many are given at once. */
  async input(bytes: Uint8Array): Promise<void> {
    await this.#inputs.take(() => this.#host.pty.input(this.pid, bytes), this.#closing.signal);
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.#host.pty.resize(this.pid, cols, rows);
  }

  /** What came since the last time; waits for something to come, or for the end, at most this long. */
  async read(timeoutMilliseconds: number, signal: AbortSignal): Promise<TerminalOutput> {
    await this.#until(() => !this.#output.isEmpty || this.#exited !== null, timeoutMilliseconds, signal);
    const { text, isCut } = this.#output.drain(this.#exited !== null);
    const wasMissed = this.#hasGap;
    this.#hasGap = false;
    return { text, isCut: isCut || wasMissed, exited: this.#exited };
  }

  async kill(): Promise<void> {
    this.#closing.abort();
    await this.#host.pty.kill(this.pid);
  }

  #take(bytes: Buffer): void {
    if (this.#beforeGate === null || this.#mark === null) this.#output.push(bytes);
    else {
      const seen = Buffer.concat([this.#beforeGate, bytes]);
      const at = seen.indexOf(this.#mark);
      this.#beforeGate = at === -1 ? seen : null;
      if (at !== -1) this.#output.push(seen.subarray(at + this.#mark.length));
    }
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #end(code: number | null): void {
    this.#exited ??= { code };
    this.#wake();
  }

  /** After a cut: whether it runs is asked before and after the new stream opens, since one that opens late tells nothing. */
  async #resume(): Promise<void> {
    this.#hasGap = true;
    for (const delay of REOPEN_DELAYS_MS) {
      await sleep(delay);
      const isAlive = await this.#host.isAlive(this.pid).catch(() => null);
      if (isAlive === false) break;
      const isOpen =
        isAlive === true &&
        (await this.follow()
          .then(() => true)
          .catch(() => false));
      if (!isOpen) continue;
      if (await this.#host.isAlive(this.pid).catch(() => true)) return;
      await sleep(LAST_WORDS_MS);
      break;
    }
    this.#end(null);
  }

  async #until(isThere: () => boolean, milliseconds: number, signal: AbortSignal): Promise<void> {
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]);
    while (!isThere() && !timeout.aborted) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        timeout.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}
