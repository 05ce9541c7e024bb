import { expect } from 'vitest';
import { stageDocument } from '#test/builders/stage-settings';
import { parseSettings } from '../../infra/config/load-settings.ts';

/** The shipped document with the value at a dotted path replaced. */
export function changed(stage: 'default' | 'example', changes: Readonly<Record<string, unknown>>): unknown {
  const document = stageDocument(stage);
  for (const [where, value] of Object.entries(changes)) {
    const keys = where.split('.');
    const last = keys.pop() ?? '';
    let target: unknown = document;
    for (const key of keys) target = Reflect.get(target as object, key);
    Reflect.set(target as object, last, value);
  }
  return document;
}

/** One line for each problem of a document, in order. */
export function problemsOf(document: unknown): readonly string[] {
  try {
    parseSettings(document, 'x.json');
  } catch (error) {
    const [head, ...lines] = (error as Error).message.split('\n');
    expect(head).toBe(`x.json cannot be used (${String(lines.length)} problems):`);
    return lines.map((line) => line.trim());
  }
  return [];
}
