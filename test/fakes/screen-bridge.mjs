/**
 * A desktop bridge in miniature, run as a program: speaks MCP over lines, answers `screenshot` with the PNG files of its
 * folder one after another (the last again and again), fails `key`, and writes down each call in `calls.jsonl`.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

const folder = process.argv[2] ?? '.';
const screens = readdirSync(folder)
  .filter((name) => name.endsWith('.png'))
  .sort();
let looks = 0;

function answerTo({ name, arguments: given }) {
  appendFileSync(path.join(folder, 'calls.jsonl'), `${JSON.stringify([name, given])}\n`);
  if (name === 'key') return { isError: true, content: [{ type: 'text', text: 'there is no key "any"' }] };
  if (name !== 'screenshot') return { content: [{ type: 'text', text: `did ${name}` }] };
  const file = screens[Math.min(looks, screens.length - 1)];
  looks += 1;
  const data = readFileSync(path.join(folder, file)).toString('base64');
  return {
    content: [
      { type: 'text', text: 'Took a screenshot.' },
      { type: 'image', data, mimeType: 'image/png' },
    ],
  };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'tools/call' && params.name === 'type' && params.arguments.text === 'die') process.exit(3);
  const result = method === 'initialize' ? { protocolVersion: '2025-06-18', capabilities: {} } : answerTo(params);
  process.stdout.write(`log line that is no JSON\n${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});
