import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scoreForm, type FieldKind, type FormFields } from '#grading/form';

const kindOf = (field: string): FieldKind =>
  field.startsWith('line_') ? 'money' : field === 'ssn' ? 'digits' : 'text';

const form = (fields: FormFields): unknown => ({ form: '1040', tax_year: 2024, fields });

const REFERENCE: FormFields = {
  name: 'Ann Lee',
  ssn: '000-11-2222',
  status: ['a', 'b'],
  line_1: '1234',
  line_2: '0',
  line_3: '',
  box: [],
};

const scoreWith = (changes: FormFields) => scoreForm(form({ ...REFERENCE, ...changes }), [form(REFERENCE)], kindOf);

describe('scoreForm', () => {
  it('counts only fields that say something', () => {
    expect(scoreWith({})).toEqual({ right: 4, informative: 4, wrong: [], gate: null });
    expect(scoreWith({ line_2: '5', line_3: '7', box: ['x'] })).toMatchObject({ right: 4, informative: 4 });
  });

  it('compares amounts to within a cent, boxes as sets, numbers by digits, text without case and spacing', () => {
    const changes = { name: ' ann  LEE', ssn: '000112222', status: ['b', 'a'], line_1: '$1,234.00' };
    expect(scoreWith(changes)).toMatchObject({ right: 4 });
  });

  it('names each wrong field', () => {
    expect(scoreWith({ line_1: '1235', status: ['a'] })).toMatchObject({ right: 2, wrong: ['status', 'line_1'] });
    expect(scoreWith({ status: ['a', 'b', 'b'] })).toMatchObject({ wrong: ['status'] });
  });

  const { line_3: _dropped, ...short } = REFERENCE;
  it.each([
    ['a missing field', form(short), '/fields/line_3 is missing'],
    ['an added field', form({ ...REFERENCE, line_9: '' }), '/fields/line_9 is not a member'],
    ['an added member', { form: '1040', tax_year: 2024, fields: REFERENCE, note: '' }, '/note is not a member'],
    ['a number for text', { form: '1040', tax_year: 2024, fields: { ...REFERENCE, line_1: 1234 } }, 'must be string'],
    ['text for a group', form({ ...REFERENCE, status: 'a' }), 'must be array'],
    ['numbers in a group', { form: '1040', tax_year: 2024, fields: { ...REFERENCE, box: [1] } }, 'text only'],
    ['another form', { form: '1041', tax_year: 2024, fields: REFERENCE }, '/form is "1041"'],
    ['no object', [1], 'the document is array'],
    ['nothing', null, 'the document is null'],
  ])('shuts the gate for %s', (_case, actual, gate) => {
    const score = scoreForm(actual, [form(REFERENCE)], kindOf);
    expect(score).toMatchObject({ right: 0, informative: 4 });
    expect(score.gate).toContain(gate);
  });

  it('keeps the best of several references', () => {
    const alternate = { ...REFERENCE, line_1: '1234.56', line_2: '9' };
    const score = scoreForm(form(alternate), [form(REFERENCE), form(alternate)], kindOf);
    expect(score).toMatchObject({ right: 5, informative: 5 });
  });

  it('refuses a reference that is no form or says nothing', () => {
    expect(() => scoreForm(form(REFERENCE), [], kindOf)).toThrow('at least one');
    expect(() => scoreForm(form(REFERENCE), [{ fields: { a: 1 } }], kindOf)).toThrow('not a form');
    expect(() => scoreForm(form(REFERENCE), [form({ a: '', b: '0.00', c: [] })], kindOf)).toThrow('says nothing');
  });

  it('never counts more right than informative, whatever the agent left', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const score = scoreForm(value, [form(REFERENCE)], kindOf);
        expect(score).toMatchObject({ right: 0, informative: 4 });
        expect(score.gate).not.toBeNull();
      }),
    );
  });
});
