import * as z from 'zod';
import type { CuaClient } from '#adapters/cua-client';
import { defineTool, textResult, type Tool } from './mcp-tools.ts';

const path = z.string().describe('Absolute path on the machine; a leading ~ is the home folder.');

/** Tools that read and write files. Text is UTF-8 whatever the machine's own encoding is, and line ends stay as they are. */
export function fileTools(client: CuaClient): Tool[] {
  return [
    defineTool({
      name: 'read_text',
      description: 'Read a whole UTF-8 text file of the machine. For other files, or a part of one, use read_bytes.',
      parameters: { path },
      run: async (given) => textResult(decode(given.path, await readBase64(client, given))),
    }),
    defineTool({
      name: 'write_text',
      description:
        'Write a UTF-8 text file on the machine; what it held is replaced. To append, or for other files, use write_bytes.',
      parameters: { path, content: z.string().describe('What the file is to hold.') },
      run: async (given) => {
        const bytes = Buffer.from(given.content, 'utf8');
        await client.call('write_bytes', { path: given.path, content_b64: bytes.toString('base64') });
        return textResult(`Wrote ${bytes.length} bytes to ${given.path}.`);
      },
    }),
    defineTool({
      name: 'read_bytes',
      description: 'Read a file of the machine, or a part of it, as base64.',
      parameters: {
        path,
        offset: z.int().min(0).describe('Where to begin, in bytes; 0 when left out.').optional(),
        length: z.int().min(0).describe('How many bytes; to the end of the file when left out.').optional(),
      },
      run: async (given) => textResult(await readBase64(client, given)),
    }),
    defineTool({
      name: 'write_bytes',
      description: 'Write bytes, given as base64, to a file of the machine, in place of what it holds or after it.',
      parameters: {
        path,
        content_b64: z.string().describe('The bytes in base64.'),
        append: z
          .boolean()
          .describe('True adds them at the end of the file; false, the default, replaces it.')
          .optional(),
      },
      run: async (given) => {
        const bytes = decodeBase64(given.content_b64);
        await client.call('write_bytes', { ...given, content_b64: bytes.toString('base64') });
        return textResult(`${given.append === true ? 'Added' : 'Wrote'} ${bytes.length} bytes to ${given.path}.`);
      },
    }),
  ];
}

async function readBase64(client: CuaClient, params: Readonly<Record<string, unknown>>): Promise<string> {
  const fields = await client.call('read_bytes', params);
  const content = fields['content_b64'] ?? fields['content'];
  if (typeof content === 'string') return content;
  throw new TypeError(`the cua-server at ${client.url} gave no content: ${JSON.stringify(fields).slice(0, 200)}`);
}

function decode(name: string, base64: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    throw new TypeError(`${name} is not UTF-8 text; read it with read_bytes`);
  }
}

/** The server skips over what is not base64; a file of other bytes than were meant helps nobody. */
function decodeBase64(text: string): Buffer {
  const plain = text.replace(/\s+/g, '');
  if (plain.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(plain)) return Buffer.from(plain, 'base64');
  throw new RangeError(
    'content_b64 is not base64; allowed: A-Z, a-z, 0-9, + and /, padded with = to a multiple of four',
  );
}
