/** Kinds of pictures a trajectory may show, by the extension upstream gives them. */
export type PictureKind = 'png' | 'jpg' | 'webp' | 'gif';

export const MEDIA_TYPES: Readonly<Record<PictureKind, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
};

/** How many bytes of a file tell its kind. */
export const PICTURE_HEAD_BYTES = 16;

/** What the bytes are, whatever their name or their sender says; null for anything that is no such picture. */
export function pictureKindOf(head: Uint8Array): PictureKind | null {
  const text = String.fromCharCode(...head.subarray(0, PICTURE_HEAD_BYTES));
  if (text.startsWith('\u0089PNG\r\n\u001a\n')) return 'png';
  if (text.startsWith('\u00ff\u00d8\u00ff')) return 'jpg';
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'gif';
  return text.startsWith('RIFF') && text.startsWith('WEBP', 8) ? 'webp' : null;
}
