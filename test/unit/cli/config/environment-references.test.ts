import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { originalOffset, substituteVariables } from '#cli/config/environment-references';

const secretNames = new Set<string>();

describe('substitution', () => {
  it('knows where every character of the result was written', () => {
    const piece = fc.oneof(
      fc.stringMatching(/^[a-z ,:]{0,5}$/),
      fc.constantFrom('${env:A}', '${env:B}', '${env:NONE}'),
    );
    fc.assert(
      fc.property(fc.array(piece), fc.string({ maxLength: 4 }), fc.string({ maxLength: 30 }), (pieces, a, b) => {
        const original = `k: ${pieces.join('')}`;
        const { text, substitutions } = substituteVariables(original, { values: { A: a, B: b }, secretNames });
        for (let offset = 0; offset < text.length; offset += 1) {
          const inside = substitutions.find((item) => offset >= item.substitutedStart && offset < item.substitutedEnd);
          const from = originalOffset(offset, substitutions);
          if (inside === undefined) expect(original[from]).toBe(text[offset]);
          else expect(original.slice(from, inside.end)).toBe(`\${env:${inside.name}}`);
        }
      }),
    );
  });

  it('is that of a plain replacement wherever there are no comments', () => {
    const original = 'a: ${env:A}\nb: [${env:B}, "${env:A}"]\nc: ${env:a} $${env:A}}\n';
    const { text } = substituteVariables(original, { values: { A: '1', B: '{x: 2}' }, secretNames });
    expect(text).toBe('a: 1\nb: [{x: 2}, "1"]\nc: ${env:a} $1}\n');
  });

  it('takes only variables of its own, not of every object', () => {
    expect(substituteVariables('${env:CONSTRUCTOR}', { values: {}, secretNames }).substitutions[0]?.isSet).toBe(false);
  });
});
