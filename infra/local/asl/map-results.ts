import type { ResultWriter } from './definition.ts';
import { AslError, DATA_LIMIT_EXCEEDED, RESULT_WRITER_FAILED } from './errors.ts';
import type { Execution } from './execution.ts';
import type { AslHost } from './host.ts';
import { MAX_PAYLOAD_BYTES } from './limits.ts';
import { type Json, Payload } from './payload.ts';
import { isoTime, stateMachineArn, type Visit } from './visit.ts';

/** Collects what the children of a distributed map leave behind. */
export interface ResultSink {
  add(index: number, child: Execution): void;
  /** The result of the Map state, once every child has ended. */
  close(): Promise<Payload>;
}

/** Opens the sink a Map asks for. */
export async function openResults(
  writer: ResultWriter | undefined,
  mapRunArn: string,
  visit: Visit,
): Promise<ResultSink> {
  if (writer === undefined) return new ResultList();
  const bucket = await visit.fillString(writer.bucket, 'ResultWriter/Arguments/Bucket');
  const prefix =
    writer.prefix === undefined ? '' : await visit.fillString(writer.prefix, 'ResultWriter/Arguments/Prefix');
  const { host } = visit.run.engine;
  const folder = [prefix.replace(/\/$/, ''), mapRunArn.slice(mapRunArn.lastIndexOf(':') + 1)].filter(Boolean).join('/');
  return new ResultFiles(host, bucket, folder, mapRunArn);
}

/** Outputs in the order of the items. Past the payload limit nothing more is kept, since the state must fail anyway. */
class ResultList implements ResultSink {
  #texts: string[] = [];
  #bytes = 2;

  add(index: number, child: Execution): void {
    const text = child.result?.output ?? JSON.stringify(describeChild(child));
    this.#bytes += Buffer.byteLength(text) + 1;
    if (this.#bytes > MAX_PAYLOAD_BYTES + 1) this.#texts = [];
    else this.#texts[index] = text;
  }

  async close(): Promise<Payload> {
    if (this.#bytes > MAX_PAYLOAD_BYTES + 1) {
      throw new AslError(
        DATA_LIMIT_EXCEEDED,
        `The outputs of the map's children take ${this.#bytes} bytes; ${MAX_PAYLOAD_BYTES} are allowed. Use a ResultWriter.`,
      );
    }
    return new Payload(`[${this.#texts.join(',')}]`);
  }
}

/** A result file is written as soon as it holds so much text, so that a map's memory does not grow with its items. */
const FILE_LENGTH = 1_048_576;

type ResultKind = 'SUCCEEDED' | 'FAILED' | 'PENDING';

/** Files of child descriptions by status, and the manifest that lists them. */
class ResultFiles implements ResultSink {
  readonly #host: AslHost;
  readonly #bucket: string;
  readonly #folder: string;
  readonly #mapRunArn: string;
  readonly #open: Record<ResultKind, { rows: string[]; length: number }> = {
    SUCCEEDED: { rows: [], length: 0 },
    FAILED: { rows: [], length: 0 },
    PENDING: { rows: [], length: 0 },
  };
  readonly #files: Record<ResultKind, { Key: string; Size: number }[]> = { SUCCEEDED: [], FAILED: [], PENDING: [] };
  #writing: Promise<void> = Promise.resolve();

  constructor(host: AslHost, bucket: string, folder: string, mapRunArn: string) {
    this.#host = host;
    this.#bucket = bucket;
    this.#folder = folder;
    this.#mapRunArn = mapRunArn;
  }

  add(_index: number, child: Execution): void {
    const kind = child.status === 'SUCCEEDED' ? 'SUCCEEDED' : 'FAILED';
    const file = this.#open[kind];
    const row = JSON.stringify(describeChild(child));
    file.rows.push(row);
    file.length += row.length;
    if (file.length >= FILE_LENGTH) this.#flush(kind);
  }

  async close(): Promise<Payload> {
    for (const kind of ['SUCCEEDED', 'FAILED'] as const) if (this.#open[kind].rows.length > 0) this.#flush(kind);
    const key = `${this.#folder}/manifest.json`;
    this.#write(key, {
      DestinationBucket: this.#bucket,
      MapRunArn: this.#mapRunArn,
      ResultFiles: this.#files,
    });
    try {
      await this.#writing;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new AslError(RESULT_WRITER_FAILED, `Could not write to s3://${this.#bucket}/${this.#folder}: ${message}`);
    }
    return Payload.of({ MapRunArn: this.#mapRunArn, ResultWriterDetails: { Bucket: this.#bucket, Key: key } });
  }

  #flush(kind: ResultKind): void {
    const body = `[${this.#open[kind].rows.join(',')}]`;
    this.#open[kind] = { rows: [], length: 0 };
    const key = `${this.#folder}/${kind}_${this.#files[kind].length}.json`;
    this.#files[kind].push({ Key: key, Size: Buffer.byteLength(body) });
    this.#write(key, body);
  }

  #write(key: string, body: string | Json): void {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { clock } = this.#host;
    this.#writing = this.#writing.then(() => clock.track(this.#host.writeObject(this.#bucket, key, text)));
    this.#writing.catch(() => undefined);
  }
}

/** A child as the service describes it in result files. */
function describeChild(child: Execution): Json {
  const { output, error, cause } = child.result ?? {};
  return {
    ExecutionArn: child.arn,
    Input: child.input.text,
    InputDetails: { Included: true },
    Name: child.name,
    ...(output === undefined ? {} : { Output: output, OutputDetails: { Included: true } }),
    ...(error === undefined ? {} : { Error: error }),
    ...(cause === undefined ? {} : { Cause: cause }),
    RedriveCount: 0,
    StartDate: isoTime(child.startMilliseconds),
    StateMachineArn: stateMachineArn(child.stateMachineName),
    Status: child.status,
    ...(child.stopMilliseconds === undefined ? {} : { StopDate: isoTime(child.stopMilliseconds) }),
  };
}
