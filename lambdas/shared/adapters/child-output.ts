import type { Readable } from 'node:stream';

const TAIL_BYTES = 16 * 1024;

/** Keeps the beginning of a stream up to a limit, and a short tail for diagnosis; drains and counts all of it. */
export class CappedOutput {
  readonly #limitBytes: number;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(stream: Readable, limitBytes: number) {
    this.#limitBytes = limitBytes;
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('error', () => undefined);
  }

  get bytes(): number {
    return this.#bytes;
  }

  text(): string {
    return Buffer.concat(this.#kept).toString('utf8');
  }

  tail(): string {
    return this.#tail.toString('utf8');
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const room = this.#limitBytes - this.#keptBytes;
    if (room > 0) {
      const part = Buffer.from(chunk.subarray(0, room));
      this.#kept.push(part);
      this.#keptBytes += part.length;
    }
    this.#tail =
      chunk.length >= TAIL_BYTES
        ? Buffer.from(chunk.subarray(chunk.length - TAIL_BYTES))
        : Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES);
  }
}
