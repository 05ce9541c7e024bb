import { plainText } from './plain-text.ts';
import { RemoteError } from './remote-error.ts';

const MOST_SEGMENT_BYTES = 255;
const MOST_PATH_BYTES = 2048;
const MOST_SEGMENTS = 40;
/** Names that Windows takes for devices, with any ending. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(?:\.|$)/iu;

/**
 * The parts of a path that a host names, when it can only lead to a place below a folder on this system.
 * @throws RemoteError for every other, with the reason.
 */
export function safeSegments(wanted: string, platform: string = process.platform): readonly string[] {
  const segments = wanted.split('/');
  const fault =
    pathFault(wanted, segments) ??
    segments.map((segment) => segmentFault(segment, platform === 'win32')).find((found) => found !== null) ??
    null;
  if (fault === null) return segments;
  throw new RemoteError(
    'host',
    `the host names a file that ${fault}: ${JSON.stringify(plainText(wanted, 200))}; nothing was written there, and nothing more is fetched from it`,
  );
}

/** Equal for paths that some systems take for the same. */
export function foldedPath(wanted: string): string {
  return wanted.normalize('NFC').toLowerCase();
}

function pathFault(wanted: string, segments: readonly string[]): string | null {
  if (wanted === '') return 'has no name';
  if (Buffer.byteLength(wanted) > MOST_PATH_BYTES || segments.length > MOST_SEGMENTS)
    return 'has a path that is too long';
  if (wanted.startsWith('/')) return 'is absolute';
  if (wanted.includes('\\')) return 'has a backslash';
  return /\p{Surrogate}/u.test(wanted) ? 'is no proper text' : null;
}

function segmentFault(segment: string, isWindows: boolean): string | null {
  if (segment === '' || segment === '.' || segment === '..') return 'has an empty, "." or ".." part';
  if (Buffer.byteLength(segment) > MOST_SEGMENT_BYTES) return 'has a part that is too long';
  if (/[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/u.test(segment)) return 'has a control character';
  const isTroubled = /[<>:"|?*]/u.test(segment) || /[. ]$/u.test(segment) || DEVICE.test(segment);
  return isWindows && isTroubled
    ? 'Windows cannot have, or takes for something else; fetch it on another system'
    : null;
}
