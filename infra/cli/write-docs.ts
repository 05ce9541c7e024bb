import { readFileSync, writeFileSync } from 'node:fs';
import { openApiDocument } from '#contracts/api-openapi';
import packageJson from '../../package.json' with { type: 'json' };
import { DOCUMENTS, withBlocks } from './docs-blocks.ts';

/** `npm run docs`: fills the generated blocks of the documentation, and writes the API's description. */
for (const file of DOCUMENTS) writeFileSync(file, withBlocks(readFileSync(file, 'utf8')));
writeFileSync('infra/openapi.json', `${JSON.stringify(openApiDocument(packageJson.version), null, 2)}\n`);
