import path from 'node:path';
import { parseDocument, isNode } from 'yaml';
import { ConfigError, type ConfigSource, problemAt, renderValue, valueAt } from '#core/located';
import { readTaskCard, type TaskCard } from '#core/task-card';
import { jsonFaultOffset } from './json-fault.ts';
import { displayFile, readText } from './read-text.ts';
import { lineAt } from './yaml-source.ts';

/**
 * Reads one `task_card.json`.
 * @throws ConfigError with every problem of the card, by line and column.
 */
export async function loadTaskCard(
  file: string,
  cwd: string,
): Promise<{ readonly card: TaskCard; readonly raw: unknown }> {
  const absolute = path.resolve(cwd, file);
  const display = displayFile(absolute, cwd);
  const reading = await readText(absolute);
  if ('fault' in reading) {
    const text = {
      what: `the task card ${reading.fault.what}`,
      got: JSON.stringify(absolute),
      allowed: 'a readable JSON file',
      action: 'put a task_card.json beside the task',
    };
    throw new ConfigError([problemAt({ file: display, line: 1, column: 1 }, text)]);
  }
  const source = jsonSource(reading.text, display);
  const { card, problems } = readTaskCard(source.value, source);
  if (problems.length > 0) throw new ConfigError(problems);
  return { card, raw: source.value };
}

function jsonSource(text: string, file: string): ConfigSource {
  const value = parseJson(text, file);
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'json',
    prettyErrors: false,
    logLevel: 'error',
    uniqueKeys: false,
  });
  const offsetOf = (steps: readonly (string | number)[]): number => {
    for (let length = steps.length; length > 0; length -= 1) {
      const node = document.getIn(steps.slice(0, length), true);
      if (isNode(node)) return node.range?.[0] ?? 0;
    }
    return 0;
  };
  return {
    file,
    value,
    locate: (steps) => lineAt(text, file, offsetOf(steps)),
    show: (steps) => renderValue(valueAt(value, steps)),
  };
}

function parseJson(text: string, file: string): unknown {
  const offset = jsonFaultOffset(text);
  if (offset === null) return JSON.parse(text);
  const at = lineAt(text, file, offset);
  const line = (text.split('\n')[at.line - 1] ?? '').trim();
  throw new ConfigError([
    problemAt(at, {
      what: 'the task card is not valid JSON',
      got: renderValue(line),
      allowed: 'JSON (no comments, no comma after the last item, at most 200 levels)',
      action: 'correct the syntax here or just before',
    }),
  ]);
}
