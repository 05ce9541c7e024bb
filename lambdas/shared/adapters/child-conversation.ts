import type { Duplex } from 'node:stream';
import { encodeFrame, FrameDecoder, type Frame } from './child-frames.ts';
import type { RequestDesk } from './child-requests.ts';

/** How a conversation with a child ended. `silent` means that it ended without an answer. */
export type Verdict =
  | { readonly kind: 'returned'; readonly valueKind: string; readonly text: string; readonly message: string | null }
  | { readonly kind: 'threw'; readonly name: string | null; readonly message: string }
  | { readonly kind: 'broken'; readonly message: string }
  | { readonly kind: 'silent'; readonly wasReady: boolean };

export interface ConversationOptions {
  /** Told to the child's entry before the module is loaded; every message must carry it. */
  readonly nonce: string;
  readonly resultLimitBytes: number;
}

/** Room for a session's writes: base64 of a chunk, and the words around it. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

/** The host's side of descriptor 3: one request served at a time, the first answer is final. */
export class Conversation {
  readonly verdict: Promise<Verdict>;
  readonly #pipe: Duplex;
  readonly #desk: RequestDesk;
  readonly #nonce: string;
  readonly #resultLimitBytes: number;
  #resolve: (verdict: Verdict) => void = () => undefined;
  #queue: Promise<void> = Promise.resolve();
  #isOver = false;
  #isReady = false;
  #isServing = true;

  constructor(pipe: Duplex, desk: RequestDesk, options: ConversationOptions) {
    this.#pipe = pipe;
    this.#desk = desk;
    this.#nonce = options.nonce;
    this.#resultLimitBytes = options.resultLimitBytes;
    this.verdict = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const decoder = new FrameDecoder(Math.max(MAX_REQUEST_BYTES, this.#resultLimitBytes + MAX_REQUEST_BYTES));
    pipe.on('error', () => undefined);
    pipe.on('data', (chunk: Buffer) => this.#take(decoder, chunk));
  }

  start(header: Readonly<Record<string, unknown>>): void {
    this.#send({ ...header, nonce: this.#nonce, resultLimitBytes: this.#resultLimitBytes });
  }

  /** Once the child has ended its pipe is read to the end, whatever request is still being served. */
  stopServing(): void {
    this.#isServing = false;
    this.#pipe.resume();
  }

  /** The verdict of a child that has ended and whose pipe is drained. */
  settled(): Promise<Verdict> {
    this.#end({ kind: 'silent', wasReady: this.#isReady });
    return this.verdict;
  }

  #take(decoder: FrameDecoder, chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      for (const frame of decoder.push(chunk)) this.#judge(frame);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#end({ kind: 'broken', message: `something was written to the result channel: ${reason}` });
    }
  }

  #judge({ header, body }: Frame): void {
    if (header['nonce'] !== this.#nonce) throw new TypeError('a message did not carry the secret of this call');
    switch (header['kind']) {
      case 'ready':
        this.#isReady = true;
        return;
      case 'read':
      case 'session':
      case 'service':
        this.#serve(header);
        return;
      case 'returned':
        this.#end({
          kind: 'returned',
          valueKind: String(header['valueKind']),
          text: Buffer.from(body).toString('utf8'),
          message: textOrNull(header['message']),
        });
        return;
      case 'threw':
        this.#end({ kind: 'threw', name: textOrNull(header['name']), message: textOrNull(header['message']) ?? '' });
        return;
      default:
        throw new TypeError(`a message of unknown kind ${JSON.stringify(header['kind'])}`);
    }
  }

  /** Nothing more is read from the child until this request is answered. */
  #serve(header: Readonly<Record<string, unknown>>): void {
    if (!this.#isServing) return;
    this.#pipe.pause();
    this.#queue = this.#queue.then(async () => {
      const answer = await this.#desk.answer(header);
      const isFlushed = this.#send({ ...answer.header, id: header['id'] }, answer.body);
      if (!isFlushed) await drained(this.#pipe);
      this.#pipe.resume();
    });
  }

  #send(header: Readonly<Record<string, unknown>>, body?: Uint8Array): boolean {
    if (this.#pipe.destroyed || !this.#pipe.writable) return true;
    return encodeFrame(header, body)
      .map((part) => this.#pipe.write(part))
      .every(Boolean);
  }

  #end(verdict: Verdict): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (verdict.kind === 'returned' || verdict.kind === 'threw') this.#send({ kind: 'done' });
    this.#resolve(verdict);
  }
}

function drained(pipe: Duplex): Promise<void> {
  return new Promise((resolve) => {
    pipe.once('drain', resolve);
    pipe.once('close', resolve);
  });
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
