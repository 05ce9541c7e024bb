import { describe, expect, it } from 'vitest';
import { mapKey, mapKeys, splitCombination, type CuaOs } from '#core/cua/keys';
import { KEY_TABLES } from '#core/cua/key-tables';
import { keysymOf } from '#core/cua/x-typing';

describe('the names of keys', () => {
  it.each<[string, string | null, string | null, string | null]>([
    // spelled, linux, windows, macOS
    ['PageDown', 'page_down', 'pagedown', 'page_down'],
    ['page_down', 'page_down', 'pagedown', 'page_down'],
    ['pgdn', 'page_down', 'pagedown', 'page_down'],
    ['Prior', 'page_up', 'pageup', 'page_up'],
    ['del', 'delete', 'delete', 'delete'],
    ['Return', 'enter', 'enter', 'enter'],
    ['Escape', 'esc', 'esc', 'esc'],
    ['win', 'cmd', 'win', 'cmd'],
    ['Super_L', 'cmd_l', 'win', 'cmd_l'],
    ['command', 'cmd', 'win', 'cmd'],
    ['Meta', 'cmd', 'win', 'cmd'],
    ['option', 'alt', 'alt', 'alt'],
    ['Control', 'ctrl', 'ctrl', 'ctrl'],
    ['ctrl_r', 'ctrl_r', 'ctrl', 'ctrl_r'],
    ['ArrowLeft', 'left', 'left', 'left'],
    ['Up Arrow', 'up', 'up', 'up'],
    ['CapsLock', 'caps_lock', 'capslock', 'caps_lock'],
    ['F5', 'f5', 'f5', 'f5'],
    ['f13', 'f13', null, 'f13'],
    ['insert', 'insert', null, null],
    ['PrtSc', 'print_screen', null, null],
    [' ', 'space', 'space', 'space'],
    ['\n', 'enter', 'enter', 'enter'],
    ['plus', '+', '+', '+'],
    ['slash', '/', '/', '/'],
    ['a', 'a', 'a', 'a'],
    ['A', 'A', 'A', 'A'],
    ['€', '€', '€', '€'],
    ['😀', '😀', '😀', '😀'],
    ['hyper', null, null, null],
    ['', null, null, null],
    ['__proto__', null, null, null],
  ])('%j is what each system calls it', (name, linux, windows, darwin) => {
    expect([mapKey('linux', name), mapKey('windows', name), mapKey('darwin', name)]).toEqual([linux, windows, darwin]);
  });

  it('every name a server takes is taken by us, in every case', () => {
    for (const os of Object.keys(KEY_TABLES) as CuaOs[]) {
      expect(KEY_TABLES[os].size).toBeGreaterThan(5);
      for (const name of KEY_TABLES[os].values()) {
        expect([os, name, mapKey(os, name)]).toEqual([os, name, name]);
        expect([os, name, mapKey(os, name.toUpperCase())]).toEqual([os, name, name]);
      }
    }
  });

  it('windows is never asked for a name it does not know', () => {
    const known =
      /^(?:enter|esc|space|tab|backspace|delete|home|end|pageup|pagedown|up|down|left|right|shift|ctrl|alt|win|capslock|f[1-9]|f1[0-2])$/;
    expect([...KEY_TABLES.windows.values()].filter((name) => !known.test(name))).toEqual([]);
  });

  it('every key of linux has a name in X that is no name of a server', () => {
    for (const name of KEY_TABLES.linux.values()) expect(keysymOf(name)).toMatch(/^(?:[A-Z]\w+|space)$/);
    expect([keysymOf('a'), keysymOf('-'), keysymOf('€'), keysymOf('😀'), keysymOf('f5')]).toEqual([
      ...['a', 'U002D', 'U20AC', 'U1F600', 'F5'],
    ]);
  });
});

describe('keys pressed together', () => {
  it.each([
    ['ctrl+shift+t', ['ctrl', 'shift', 't']],
    ['ctrl++', ['ctrl', '+']],
    ['+', ['+']],
    ['ctrl+plus', ['ctrl', 'plus']],
    ['a', ['a']],
    ['', []],
  ])('%j is split', (text, names) => {
    expect(splitCombination(text)).toEqual(names);
  });

  it('a letter beside a modifier means its key, beside shift alone the capital', () => {
    expect(mapKeys('linux', ['Ctrl', 'C'])).toEqual({ keys: ['ctrl', 'c'] });
    expect(mapKeys('windows', 'win+R')).toEqual({ keys: ['win', 'r'] });
    expect(mapKeys('linux', ['shift', 'A'])).toEqual({ keys: ['shift', 'A'] });
  });

  it('the first name that is no key is told', () => {
    expect(mapKeys('windows', ['ctrl', 'insert'])).toEqual({ unknown: 'insert' });
    expect(mapKeys('linux', [])).toEqual({ unknown: '' });
  });
});
