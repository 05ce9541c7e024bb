import type { AtifContent, AtifContentPart } from './atif.ts';
import type { ContentPart } from './trajectory-types.ts';

/** A picture to write below the run folder. */
export interface Screenshot {
  /** `screenshots/NNNN.<ext>`, counted over the whole run from 0. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/jpg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
};

/** Moves inline pictures out of contents; one instance numbers the pictures of one run. */
export class ScreenshotCollector {
  readonly screenshots: Screenshot[] = [];
  readonly warnings: string[] = [];

  /** The content with paths for pictures; one that is no base64 becomes a text that says so. */
  content(content: string | readonly ContentPart[]): AtifContent {
    return typeof content === 'string' ? content : content.map((part) => this.part(part));
  }

  /** Keeps an inline picture and returns its path; null when it is no base64. */
  keep(base64: string, mediaType: string): string | null {
    const bytes = decodeBase64(base64);
    const number = String(this.screenshots.length).padStart(4, '0');
    if (bytes === null) {
      this.warnings.push(
        `a picture after ${number} is not base64 (${String(base64.length)} characters); it is left out`,
      );
      return null;
    }
    const path = `screenshots/${number}.${EXTENSIONS[mediaType.trim().toLowerCase()] ?? 'png'}`;
    this.screenshots.push({ path, bytes });
    return path;
  }

  private part(part: ContentPart): AtifContentPart {
    if (part.type === 'text') return { type: 'text', text: part.text ?? '' };
    const mediaType = part.source?.media_type ?? 'image/png';
    const inline = part.source?.base64;
    const path = inline === undefined ? part.source?.path : this.keep(inline, mediaType);
    if (path === undefined || path === null || path === '') return { type: 'text', text: '[image not kept]' };
    return { type: 'image', source: { media_type: mediaType, path } };
  }
}

/** Base64 or base64url, with or without padding, white space or a `data:` prefix; null for anything else or nothing. */
function decodeBase64(text: string): Uint8Array | null {
  const digits = text
    .replace(/^data:[^,]*;base64,/u, '')
    .replace(/\s+/gu, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/=+$/u, '');
  if (digits === '' || digits.length % 4 === 1 || /[^A-Za-z0-9+/]/u.test(digits)) return null;
  return Uint8Array.from(atob(digits), (character) => character.charCodeAt(0));
}
