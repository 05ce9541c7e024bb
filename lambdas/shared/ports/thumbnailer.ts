/** A small PNG of a picture. */
export interface Thumbnail {
  readonly width: number;
  readonly height: number;
  readonly png: Uint8Array;
}

/** Makes pictures small that nobody vouches for. */
export interface Thumbnailer {
  /** Fits the box, never larger than the picture; null for what is broken, of a kind it does not read, or too large to be read. */
  shrink(picture: Uint8Array, box: { readonly width: number; readonly height: number }): Promise<Thumbnail | null>;
}
