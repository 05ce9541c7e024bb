/** Messages between a module runner and its child: a JSON header and an optional binary body, both length-prefixed. */
export interface Frame {
  readonly header: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

const PREFIX_BYTES = 8;

// Taken before foreign code can replace them.
const stringify = JSON.stringify;
const bytesOf = Buffer.from.bind(Buffer);
const allocate = Buffer.alloc.bind(Buffer);

/** Bytes of a text, by means that foreign code cannot have replaced. */
export function encodeText(text: string): Uint8Array {
  return bytesOf(text, 'utf8');
}

export function encodeFrame(header: Readonly<Record<string, unknown>>, body: Uint8Array = new Uint8Array()): Buffer[] {
  const text = bytesOf(stringify(header), 'utf8');
  const prefix = allocate(PREFIX_BYTES);
  prefix.writeUInt32BE(text.length, 0);
  prefix.writeUInt32BE(body.length, 4);
  return [prefix, text, bytesOf(body.buffer, body.byteOffset, body.length)];
}

/** Cuts a byte stream into frames. Throws on a frame over the limit or a header that is no JSON object. */
export class FrameDecoder {
  readonly #maxFrameBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = PREFIX_BYTES;

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes;
  }

  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const frames: Frame[] = [];
    while (this.#bytes >= this.#wanted) {
      const buffer = this.#chunks.length === 1 ? (this.#chunks[0] ?? chunk) : Buffer.concat(this.#chunks);
      this.#chunks = [buffer];
      const headerBytes = buffer.readUInt32BE(0);
      const frameBytes = PREFIX_BYTES + headerBytes + buffer.readUInt32BE(4);
      if (frameBytes > this.#maxFrameBytes) {
        throw new RangeError(`a message of ${frameBytes} bytes is over the limit of ${this.#maxFrameBytes}`);
      }
      if (buffer.length < frameBytes) {
        this.#wanted = frameBytes;
        break;
      }
      const header: unknown = JSON.parse(buffer.toString('utf8', PREFIX_BYTES, PREFIX_BYTES + headerBytes));
      if (!isRecord(header)) throw new TypeError('a message header is no JSON object');
      frames.push({ header, body: buffer.subarray(PREFIX_BYTES + headerBytes, frameBytes) });
      this.#chunks = [buffer.subarray(frameBytes)];
      this.#bytes = buffer.length - frameBytes;
      this.#wanted = PREFIX_BYTES;
    }
    return frames;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
