/** What a terminal has written and nobody has read yet; the oldest bytes go when it is more than `limitBytes`. */
export interface OutputBuffer {
  readonly isEmpty: boolean;
  push(bytes: Buffer): void;
  /**
   * Takes everything out. The beginning of a character whose rest has not come yet stays in, unless nothing more will come.
   * `isCut` says whether older output was dropped since the last time.
   */
  drain(isLast: boolean): { readonly text: string; readonly isCut: boolean };
}

export function createOutputBuffer(limitBytes: number): OutputBuffer {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let isCut = false;
  const dropOldest = (): void => {
    while (bytes > limitBytes) {
      const [oldest = Buffer.alloc(0), ...rest] = pieces;
      const excess = Math.min(bytes - limitBytes, oldest.length);
      pieces = excess === oldest.length ? rest : [oldest.subarray(excess), ...rest];
      bytes -= excess;
      isCut = true;
    }
  };
  return {
    get isEmpty() {
      return bytes === 0;
    },
    push: (piece) => {
      pieces.push(piece);
      bytes += piece.length;
      dropOldest();
    },
    drain: (isLast) => {
      const all = Buffer.concat(pieces);
      const from = isCut ? leadingContinuation(all) : 0;
      const to = isLast ? all.length : all.length - unfinishedBytes(all);
      const result = { text: all.toString('utf8', from, to), isCut };
      pieces = to < all.length ? [all.subarray(to)] : [];
      bytes = all.length - to;
      isCut = false;
      return result;
    },
  };
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Bytes at the start that belong to a character whose beginning was dropped. */
function leadingContinuation(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && isContinuation(bytes[at])) at += 1;
  return at;
}

/** Bytes at the end that begin a UTF-8 character and do not finish it. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back];
    if (byte === undefined || isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
