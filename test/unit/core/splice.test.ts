import { describe, expect, it } from 'vitest';
import { placeholders, spliceUnit, substitute } from '#core/splice';

const unit = { StartAt: 'A', States: { A: { Type: 'Succeed' } } };
const sweep = {
  StartAt: 'RunUnits',
  States: {
    RunUnits: {
      Type: 'Map',
      ItemProcessor: {
        ProcessorConfig: { Mode: 'DISTRIBUTED' },
        StartAt: 'SpliceUnit',
        States: { SpliceUnit: { Type: 'Pass', End: true } },
      },
    },
    Report: { Type: 'Succeed' },
  },
};

describe('splicing the unit into the sweep', () => {
  it('puts its states where the placeholder stood and changes nothing else', () => {
    const before = structuredClone({ sweep, unit });
    expect(spliceUnit(sweep, unit)).toEqual({
      StartAt: 'RunUnits',
      States: {
        RunUnits: {
          Type: 'Map',
          ItemProcessor: { ProcessorConfig: { Mode: 'DISTRIBUTED' }, StartAt: 'A', States: { A: { Type: 'Succeed' } } },
        },
        Report: { Type: 'Succeed' },
      },
    });
    expect({ sweep, unit }).toEqual(before);
  });

  it.each([
    ['no map', { States: {} }],
    ['no processor', { States: { RunUnits: {} } }],
    ['no states', { States: { RunUnits: { ItemProcessor: {} } } }],
    ['a list', { States: [] }],
  ])('refuses a sweep with %s', (_, wrong) => {
    expect(() => spliceUnit(wrong, unit)).toThrow(/has no object/u);
  });

  it('refuses to splice twice', () => {
    expect(() => spliceUnit(spliceUnit(sweep, unit), unit)).toThrow(/does not hold SpliceUnit/u);
  });
});

describe('placeholders', () => {
  it('are replaced wherever a whole string is one, and only there', () => {
    const definition = {
      a: '${One}',
      b: ['x', '${Two}', { c: '${One}' }],
      d: 'a ${One} b',
      e: 1,
      f: null,
      g: '{% $x %}',
    };
    expect(substitute(definition, { One: '1', Two: '2' })).toEqual({
      a: '1',
      b: ['x', '2', { c: '1' }],
      d: 'a ${One} b',
      e: 1,
      f: null,
      g: '{% $x %}',
    });
    expect(placeholders(definition)).toEqual(['One', 'Two']);
  });

  it('without a value are refused by name', () => {
    expect(() => substitute({ a: '${Three}' }, { One: '1' })).toThrow(/nothing to put for \$\{Three\}; known: One/u);
    expect(() => substitute({ a: '${toString}' }, {})).toThrow(/nothing to put for \$\{toString\}/u);
  });
});
