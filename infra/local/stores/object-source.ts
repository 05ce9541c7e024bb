import type { Readable } from 'node:stream';

import type { ByteRange } from '#core/object-rules';
import type { ObjectInfo, ObjectRef, PutOptions } from '#ports/artifact-store';

/** One object held open: what is read is one whole version of it, whatever is written meanwhile. */
export interface OpenObject {
  readonly info: ObjectInfo;
  readonly contentType: string;
  /** At most once; the range must lie inside the content. Closes the object at its end. */
  read(range?: ByteRange): Readable;
  /** The same content at once, for what is small enough; undefined for what is not, which leaves it open. */
  readSmall(range?: ByteRange): Uint8Array | undefined;
  /** Needed when `read` is not called. */
  close(): Promise<void>;
}

/** What the object server needs of a store. */
export interface ObjectSource {
  open(ref: ObjectRef): Promise<OpenObject | undefined>;
  /** Stores a stream, whole or not at all. */
  receive(
    ref: ObjectRef,
    content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    options: PutOptions,
  ): Promise<ObjectInfo>;
}

/** Where one object lies. */
export interface ObjectPlace {
  readonly key: string;
  readonly dataPath: string;
  /** A cache: what is known of the data file with this identity. Rebuilt when it is missing, torn or of an older file. */
  readonly sidecarPath: string;
}

/** Where objects lie that a store shows and does not hold: null where there is none, undefined for keys of its own. */
export type ObjectView = (ref: ObjectRef) => ObjectPlace | null | undefined;
