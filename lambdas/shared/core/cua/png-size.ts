import type { ScreenSize } from './coordinates.ts';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const HEADER_BYTES = 24;

/** Width and height from a PNG's header, or null when the bytes are no PNG. */
export function readPngSize(bytes: Uint8Array): ScreenSize | null {
  if (bytes.length < HEADER_BYTES || SIGNATURE.some((byte, at) => bytes[at] !== byte)) return null;
  if (String.fromCharCode(...bytes.subarray(12, 16)) !== 'IHDR') return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = { width: view.getUint32(16), height: view.getUint32(20) };
  return size.width > 0 && size.height > 0 ? size : null;
}
