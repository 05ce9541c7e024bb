import { readFileSync, writeFileSync } from 'node:fs';
import { DOCUMENTS, withBlocks } from './docs-blocks.ts';

/** `npm run docs`: fills the generated blocks of the documentation. */
for (const file of DOCUMENTS) writeFileSync(file, withBlocks(readFileSync(file, 'utf8')));
