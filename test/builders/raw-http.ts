import { connect, type Socket } from 'node:net';

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** What a connection brought before the server closed it, or everything was answered. */
export interface RawExchange {
  readonly answers: readonly RawAnswer[];
  /** Whatever came, as it came. */
  readonly text: string;
  readonly isClosed: boolean;
}

export interface RawOptions {
  /** Answers to wait for; the connection is then ended from here. */
  readonly answers?: number;
  /** Given up after this; default 10,000 ms. */
  readonly giveUpMs?: number;
  /** Requests whose answers have no body although a length is given. */
  readonly isHead?: boolean;
}

/** Writes bytes to a port of this computer and reads what comes back. Never rejects: a cut connection is an answer too. */
export async function rawExchange(
  port: number,
  parts: readonly (string | Uint8Array)[],
  { answers: wanted = 1, giveUpMs = 10_000, isHead = false }: RawOptions = {},
): Promise<RawExchange> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const state = { bytes: Buffer.alloc(0), isClosed: false };
  const ended = new Promise<void>((resolve) => {
    const giveUp = setTimeout(resolve, giveUpMs);
    const end = (): void => {
      clearTimeout(giveUp);
      state.isClosed = true;
      resolve();
    };
    socket.on('data', (chunk: Buffer) => {
      state.bytes = Buffer.concat([state.bytes, chunk]);
      if (finalAnswers(state.bytes, isHead).length < wanted) return;
      clearTimeout(giveUp);
      resolve();
    });
    socket.on('error', () => undefined);
    socket.on('close', end);
    socket.on('end', end);
  });
  await writeAll(socket, parts);
  await ended;
  socket.destroy();
  return { answers: finalAnswers(state.bytes, isHead), text: state.bytes.toString('latin1'), isClosed: state.isClosed };
}

/** Waits for each part to be taken; one that never is does not hold up the rest of the test. */
async function writeAll(socket: Socket, parts: readonly (string | Uint8Array)[]): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed) return;
    await new Promise<void>((resolve) => {
      const giveUp = setTimeout(resolve, 2_000);
      socket.once('close', resolve);
      socket.write(part, () => {
        clearTimeout(giveUp);
        socket.off('close', resolve);
        resolve();
      });
    });
  }
}

/** `100 Continue` aside. */
function finalAnswers(bytes: Buffer, isHead: boolean): readonly RawAnswer[] {
  return parseAnswers(bytes, isHead).filter(({ status }) => status >= 200);
}

function parseAnswers(bytes: Buffer, isHead: boolean): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let at = 0;
  for (;;) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd < 0) return answers;
    const [first = '', ...lines] = bytes.subarray(at, headEnd).toString('latin1').split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const length = isHead ? 0 : Number(headers.get('content-length') ?? 0);
    const end = headEnd + 4 + length;
    if (end > bytes.length) return answers;
    const body = bytes.subarray(headEnd + 4, end).toString('utf8');
    answers.push({ status: Number(/^HTTP\/1\.1 (\d{3})/u.exec(first)?.[1] ?? 0), headers, body });
    at = end;
  }
}
