import type { AtifContent, AtifContentPart } from './atif.ts';
import { decodeBase64 } from './base64.ts';
import { MEDIA_TYPES, pictureKindOf, type PictureKind } from './picture-kind.ts';
import { RUN_FILES } from './run-tree.ts';
import type { ContentPart } from './trajectory-types.ts';

/** How much of what an agent calls pictures is kept. */
export const SCREENSHOT_LIMITS = { count: 2000, eachBytes: 32 * 1024 * 1024, totalBytes: 512 * 1024 * 1024 } as const;

/** A picture to write below the run folder: its bytes, or the object that has them. */
export type Screenshot =
  { readonly path: string; readonly bytes: Uint8Array } | { readonly path: string; readonly key: string };

/** A file of the agent's work folder to which a step may refer by its path there. */
export interface CollectedPicture {
  readonly key: string;
  readonly sizeBytes: number;
  /** By its first bytes; null for a file that is no picture. */
  readonly kind: PictureKind | null;
}

const MOST_WARNINGS = 20;

/** Moves pictures out of contents into files, in the order of the steps; one instance numbers the pictures of one run. */
export class ScreenshotCollector {
  readonly screenshots: Screenshot[] = [];
  readonly warnings: string[] = [];
  readonly #collected: ReadonlyMap<string, CollectedPicture>;
  readonly #pathOfKey = new Map<string, string>();
  #totalBytes = 0;
  #refused = 0;

  constructor(collected: ReadonlyMap<string, CollectedPicture> = new Map()) {
    this.#collected = collected;
  }

  /** The content with paths for pictures; one that cannot be kept becomes a text that says so. */
  content(content: string | readonly ContentPart[]): AtifContent {
    return typeof content === 'string' ? content : content.map((part) => this.#part(part));
  }

  /** Keeps an inline picture; null when it is not base64, no picture, or beyond the limits. */
  keep(base64: string): KeptPicture | null {
    const problem = this.#problemOfSize(Math.floor((base64.length * 3) / 4));
    if (problem !== null) return this.#refuse(`an inline picture ${problem}`);
    const bytes = decodeBase64(base64);
    if (bytes === null) return this.#refuse(`an inline picture is not base64 (${String(base64.length)} characters)`);
    const kind = pictureKindOf(bytes);
    if (kind === null) return this.#refuse(`an inline picture of ${String(bytes.length)} bytes is ${NO_PICTURE}`);
    const path = this.#nextPath(kind, bytes.length);
    this.screenshots.push({ path, bytes });
    return { path, mediaType: MEDIA_TYPES[kind] };
  }

  /** Keeps a collected file; the same file is kept once, however often steps refer to it. */
  #keepFile(named: string): KeptPicture | null {
    const shown = JSON.stringify(named.slice(0, 200));
    const file = this.#collected.get(collectedName(named) ?? '');
    if (file === undefined) return this.#refuse(`${shown} names no collected file of the agent's work folder`);
    if (file.kind === null) return this.#refuse(`${shown} is ${NO_PICTURE}`);
    const known = this.#pathOfKey.get(file.key);
    if (known !== undefined) return { path: known, mediaType: MEDIA_TYPES[file.kind] };
    const problem = this.#problemOfSize(file.sizeBytes);
    if (problem !== null) return this.#refuse(`${shown} ${problem}`);
    const path = this.#nextPath(file.kind, file.sizeBytes);
    this.screenshots.push({ path, key: file.key });
    this.#pathOfKey.set(file.key, path);
    return { path, mediaType: MEDIA_TYPES[file.kind] };
  }

  #part(part: ContentPart): AtifContentPart {
    if (part.type === 'text') return { type: 'text', text: part.text ?? '' };
    const { base64, path } = part.source ?? {};
    const kept = base64 === undefined ? this.#keepFile(path ?? '') : this.keep(base64);
    if (kept === null) return { type: 'text', text: '[image not kept]' };
    return { type: 'image', source: { media_type: kept.mediaType, path: kept.path } };
  }

  #problemOfSize(sizeBytes: number): string | null {
    const { count, eachBytes, totalBytes } = SCREENSHOT_LIMITS;
    if (this.screenshots.length === count) return `is more than the ${String(count)} pictures that are kept`;
    if (sizeBytes > eachBytes) return `has ${String(sizeBytes)} bytes; at most ${String(eachBytes)} are kept`;
    if (this.#totalBytes + sizeBytes > totalBytes) return `would make more than ${String(totalBytes)} bytes in all`;
    return null;
  }

  #nextPath(kind: PictureKind, sizeBytes: number): string {
    this.#totalBytes += sizeBytes;
    return `${RUN_FILES.screenshots}/${String(this.screenshots.length).padStart(4, '0')}.${kind}`;
  }

  #refuse(why: string): null {
    this.#refused += 1;
    if (this.#refused <= MOST_WARNINGS) this.warnings.push(`${why}; it is left out`);
    else this.warnings[MOST_WARNINGS] = `${String(this.#refused - MOST_WARNINGS)} more pictures are left out`;
    return null;
  }
}

export interface KeptPicture {
  readonly path: string;
  /** Of its content, whatever the agent said. */
  readonly mediaType: string;
}

const NO_PICTURE = 'no PNG, JPEG, WebP or GIF';

/** The name a collected file has when a step calls it `path`; null for a path that is none of the work folder's. */
export function collectedName(path: string): string | null {
  if (path.startsWith('/')) return null;
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  return parts.length === 0 || parts.includes('..') ? null : parts.join('/');
}
