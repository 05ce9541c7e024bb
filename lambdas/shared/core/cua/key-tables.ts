const list = (text: string): string[] => text.split(/\s+/).filter((name) => name !== '');
const numbered = (last: number): string[] => Array.from({ length: last }, (_, at) => `f${at + 1}`);

/** Canonical names are those of the Linux server. */
const LINUX = [
  ...list('alt alt_l alt_r alt_gr backspace caps_lock cmd cmd_l cmd_r ctrl ctrl_l ctrl_r delete down end enter esc'),
  ...list('home insert left menu num_lock page_down page_up pause print_screen right scroll_lock shift shift_l'),
  ...list('shift_r space tab up media_play_pause media_volume_mute media_volume_down media_volume_up'),
  ...list('media_previous media_next'),
  ...numbered(20),
];

const DARWIN = LINUX.filter((name) => !/^(?:insert|menu|num_lock|pause|print_screen|scroll_lock)$/.test(name));

const WINDOWS: readonly (readonly [string, string])[] = [
  ...list('enter esc space tab backspace delete home end up down left right shift ctrl alt').map(same),
  ...numbered(12).map(same),
  ['page_up', 'pageup'],
  ['page_down', 'pagedown'],
  ['caps_lock', 'capslock'],
  // One key of each pair is all it knows.
  ...list('shift ctrl alt').flatMap((name) => [[`${name}_l`, name] as const, [`${name}_r`, name] as const]),
  ['cmd', 'win'],
  ['cmd_l', 'win'],
  ['cmd_r', 'win'],
];

const ANDROID = list('enter backspace delete tab esc home back space up down left right').map(same);

function same(name: string): readonly [string, string] {
  return [name, name];
}

/** For each system: canonical name to the name its server takes. */
export const KEY_TABLES = {
  linux: new Map(LINUX.map(same)),
  darwin: new Map(DARWIN.map(same)),
  windows: new Map(WINDOWS),
  android: new Map(ANDROID),
} as const;

const SPELLINGS: Readonly<Record<string, string>> = {
  alt: 'option opt',
  alt_l: 'leftalt altleft optionleft',
  alt_r: 'rightalt altright optionright',
  alt_gr: 'altgraph isolevel3shift modeswitch',
  backspace: 'bksp',
  caps_lock: 'caps',
  cmd: 'command meta super win windows os apple',
  cmd_l: 'superl metal leftcmd cmdleft superleft winleft metaleft lwin leftwin',
  cmd_r: 'superr metar rightcmd cmdright superright winright metaright rwin rightwin',
  ctrl: 'control ctl',
  ctrl_l: 'controll leftctrl ctrlleft controlleft leftcontrol lcontrol',
  ctrl_r: 'controlr rightctrl ctrlright controlright rightcontrol rcontrol',
  delete: 'del forwarddelete kpdelete',
  enter: 'return ret kpenter linefeed newline',
  esc: 'escape',
  insert: 'ins kpinsert',
  menu: 'apps contextmenu applications',
  page_down: 'pgdn pgdown next kppagedown',
  page_up: 'pgup prior kppageup',
  pause: 'break pausebreak',
  print_screen: 'prtsc prtscn prtscr print snapshot sysrq',
  shift_l: 'leftshift shiftleft lshift',
  shift_r: 'rightshift shiftright rshift',
  space: 'spacebar',
  up: 'arrowup uparrow kpup',
  down: 'arrowdown downarrow kpdown',
  left: 'arrowleft leftarrow kpleft',
  right: 'arrowright rightarrow kpright',
  home: 'kphome',
  end: 'kpend',
  back: 'goback browserback',
  media_play_pause: 'playpause audioplay',
  media_volume_mute: 'mute volumemute audiomute',
  media_volume_down: 'volumedown audiolowervolume',
  media_volume_up: 'volumeup audioraisevolume',
  media_previous: 'audioprev mediaprevioustrack',
  media_next: 'audionext medianexttrack',
  '+': 'plus kpadd add',
  '-': 'minus hyphen dash kpsubtract subtract',
  '=': 'equal equals',
  ',': 'comma',
  '.': 'period dot kpdecimal',
  '/': 'slash kpdivide',
  '\\': 'backslash',
  ';': 'semicolon',
  "'": 'apostrophe quote',
  '`': 'grave backtick backquote',
  '[': 'bracketleft leftbracket',
  ']': 'bracketright rightbracket',
  '*': 'asterisk star kpmultiply multiply',
};

/** Spellings without case, blanks, `_` and `-`, each with its canonical name. X keysyms and the web's `key` values are among them. */
export const KEY_ALIASES: ReadonlyMap<string, string> = new Map([
  ...[...LINUX, 'back'].map((name) => [name.replaceAll('_', ''), name] as const),
  ...Object.entries(SPELLINGS).flatMap(([name, spellings]) => list(spellings).map((text) => [text, name] as const)),
]);
