import { describe, expect, it } from 'vitest';
import { parseDotenv } from '#cli/config/dotenv';

const lines: readonly (readonly [string, Record<string, string>])[] = [
  ['A=1', { A: '1' }],
  ['  A = 1  ', { A: '1' }],
  ['export A=1', { A: '1' }],
  ['export  A=1', { A: '1' }],
  ['# A=1', {}],
  ['', {}],
  ['A', {}],
  ['A=', { A: '' }],
  ['A=b=c', { A: 'b=c' }],
  ['A="b c"', { A: 'b c' }],
  ["A='b # c'", { A: 'b # c' }],
  ['A="b\'', { A: '"b\'' }],
  ['A="', { A: '"' }],
  ['A=b # c', { A: 'b' }],
  ['A=b#c', { A: 'b#c' }],
  ['A=# c', { A: '# c' }],
  ['A="b" # c', { A: '"b" # c' }],
  ['1A=b', {}],
  ['A-B=c', {}],
  ['a=b', { a: 'b' }],
  ['é=b', { é: 'b' }],
];

describe('a dotenv line', () => {
  it.each(lines)('%j', (text, values) => {
    expect(Object.fromEntries(parseDotenv(text))).toEqual(values);
  });

  it('ends with any kind of line break; the last of a name wins', () => {
    expect(Object.fromEntries(parseDotenv('A=1\r\nB=2\rC=3\nA=4'))).toEqual({ A: '4', B: '2', C: '3' });
  });
});
