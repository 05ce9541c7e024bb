import { describe, expect, it } from 'vitest';
import {
  closestName,
  ConfigError,
  displayPath,
  plainSource,
  problemAt,
  quoteList,
  renderValue,
  valueAt,
} from '#core/located';

describe('a value in a message', () => {
  it.each([
    [undefined, 'nothing'],
    [null, 'null'],
    ['a"b', '"a\\"b"'],
    ['x'.repeat(100), `"${'x'.repeat(77)}..."`],
    [Number.NaN, 'NaN'],
    [[], 'an empty list'],
    [[1, 2], 'a list of 2'],
    [{}, 'an empty mapping'],
    [{ a: 'secret' }, 'a mapping with key a'],
    [{ a: 1, b: 2 }, 'a mapping with keys a, b'],
  ])('%j is shown as %s', (value, text) => {
    expect(renderValue(value)).toBe(text);
  });
});

describe('paths', () => {
  it('are written as people write them', () => {
    expect(displayPath(['tasks', 2, 'variants', 0])).toBe('tasks[2].variants[0]');
    expect(displayPath([0, 'path'])).toBe('[0].path');
  });

  it('lead to own values only', () => {
    expect(valueAt({ a: [{ b: 1 }] }, ['a', 0, 'b'])).toBe(1);
    expect(valueAt({ a: 1 }, ['constructor'])).toBeUndefined();
    expect(valueAt(null, ['a'])).toBeUndefined();
  });
});

describe('the likely meant name', () => {
  it.each([
    ['concurency', 'concurrency'],
    ['CONCURRENCY', 'concurrency'],
    ['modle', 'model'],
    ['zzz', null],
    ['', null],
    ['x'.repeat(100), null],
  ])('of %j is %j', (name, meant) => {
    expect(closestName(name, ['concurrency', 'model'])).toBe(meant);
  });
});

describe('an error', () => {
  it('says every problem on a line of its own', () => {
    const text = { what: 'w', got: 'g', allowed: 'a', action: 'do' };
    const error = new ConfigError([
      problemAt({ file: 'f', line: 1, column: 2 }, text),
      problemAt(plainSource('g', {}).locate([]), text, ['k']),
    ]);
    expect(error.message).toBe('f:1:2: w; got g; allowed: a; do\ng:1:1: w; got g; allowed: a; do');
    expect(error).toMatchObject({ name: 'ConfigError', code: 'ConfigError', blame: 'caller', retryable: false });
  });

  it('lists names in quotes', () => {
    expect(quoteList(['a', 'b c'])).toBe('"a", "b c"');
    expect(quoteList([])).toBe('none');
  });
});
