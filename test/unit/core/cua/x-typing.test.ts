import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planTyping, readFreeKeys, xdotoolKeys, type KeyLoans } from '#core/cua/x-typing';

const loans = (free: number[]): KeyLoans => ({ free, lent: new Map() });

describe('keys pressed by xdotool', () => {
  it('go by their names in X', () => {
    expect(xdotoolKeys('key', ['ctrl', 'shift', 't'])).toBe('xdotool key -- Control_L+Shift_L+t');
    expect(xdotoolKeys('keydown', ['ctrl', '-'])).toBe('xdotool keydown -- Control_L U002D');
  });
});

describe('text typed by xdotool', () => {
  it('needs no keys lent when it is plain', () => {
    expect(planTyping("it's", loans([93])).pieces.map((piece) => piece.command)).toEqual([
      `printf %s 'it'\\''s' | xdotool type --delay 12 --file -`,
    ]);
    expect(planTyping('', loans([])).pieces).toEqual([]);
  });

  it('has a key lent to each character that has none, and keeps it', () => {
    const first = planTyping('añb', loans([93, 97]));
    expect(first.pieces[0]?.command).toBe(
      `xmodmap -e 'keycode 93 = U00F1 U00F1 VoidSymbol VoidSymbol' && sleep 0.2; printf %s 'añb' | xdotool type --delay 12 --file -`,
    );
    expect(planTyping('ñ', first.loans).pieces[0]?.command).toBe(`printf %s 'ñ' | xdotool type --delay 12 --file -`);
  });

  it('takes the key that was lent longest ago, never one of the piece before', () => {
    const { pieces, loans: after } = planTyping('αβγ', loans([1, 2, 3]));
    expect(pieces.map((piece) => piece.text)).toEqual(['α', 'β', 'γ']);
    expect([...planTyping('δ', after).loans.lent]).toEqual([
      ['β', 2],
      ['γ', 3],
      ['δ', 1],
    ]);
  });

  it('is slow where no key is free', () => {
    expect(planTyping('ñ', loans([])).pieces[0]?.command).toBe(`printf %s 'ñ' | xdotool type --delay 60 --file -`);
  });

  it('in pieces is the text, and each of its characters has a key of its own while it is typed', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 500 }), { maxLength: 4 });
    fc.assert(
      fc.property(texts, fc.uniqueArray(fc.integer({ min: 8, max: 255 }), { maxLength: 20 }), (list, free) => {
        let state = loans(free);
        const keyboard = new Map<number, string>();
        for (const text of list) {
          const plan = planTyping(text, state);
          state = plan.loans;
          expect(plan.pieces.map((piece) => piece.text).join('')).toBe(text.replaceAll('\r\n', '\n'));
          for (const piece of plan.pieces) {
            expect(piece.timeoutSeconds).toBeLessThanOrEqual(160);
            for (const [, code, name] of piece.command.matchAll(/keycode (\d+) = U([0-9A-F]+)/g)) {
              keyboard.set(Number(code), String.fromCodePoint(Number.parseInt(name ?? '', 16)));
            }
            const odd = (piece.text.match(/./gsu) ?? []).filter((each) => !/^[\n\r\t\x20-\x7e]$/.test(each));
            if (free.length > 1) expect([...keyboard.values()]).toEqual(expect.arrayContaining(odd));
          }
        }
        expect([...state.lent.values()].every((code) => free.includes(code))).toBe(true);
        expect(new Set(state.lent.values()).size).toBe(state.lent.size);
      }),
    );
  });
});

describe('the keys that may be lent', () => {
  it('are those without a meaning and those lent before', () => {
    const listing = [
      'keycode   8 =',
      'keycode   9 = Escape NoSymbol Escape',
      'keycode  22 = BackSpace BackSpace BackSpace BackSpace',
      'keycode  93 = ',
      'keycode  97 = Greek_OMEGA Greek_OMEGA VoidSymbol VoidSymbol',
      'nonsense',
    ];
    expect(readFreeKeys(listing.join('\n'))).toEqual([8, 93, 97]);
    expect(readFreeKeys('')).toEqual([]);
  });
});
