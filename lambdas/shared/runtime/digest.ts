import { createHash } from 'node:crypto';
import type { Digest } from '#ports/ports';

export const nodeDigest: Digest = { sha256: (content) => createHash('sha256').update(content).digest('hex') };
