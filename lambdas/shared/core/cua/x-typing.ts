import { isCharacter } from './keys.ts';
import { quotePosix } from './posix-shell.ts';

/** X's names of the keys whose name is not the server's in upper case. */
const KEYSYMS: ReadonlyMap<string, string> = new Map(
  [
    'alt=Alt_L alt_l=Alt_L alt_r=Alt_R alt_gr=ISO_Level3_Shift backspace=BackSpace caps_lock=Caps_Lock cmd=Super_L',
    'cmd_l=Super_L cmd_r=Super_R ctrl=Control_L ctrl_l=Control_L ctrl_r=Control_R delete=Delete down=Down end=End',
    'enter=Return esc=Escape home=Home insert=Insert left=Left menu=Menu num_lock=Num_Lock page_down=Next page_up=Prior',
    'pause=Pause print_screen=Print right=Right scroll_lock=Scroll_Lock shift=Shift_L shift_l=Shift_L shift_r=Shift_R',
    'space=space tab=Tab up=Up media_play_pause=XF86AudioPlay media_volume_mute=XF86AudioMute',
    'media_volume_down=XF86AudioLowerVolume media_volume_up=XF86AudioRaiseVolume media_previous=XF86AudioPrev',
    'media_next=XF86AudioNext',
  ]
    .flatMap((line) => line.split(' '))
    .map((pair) => pair.split('=') as [string, string]),
);

/** X's name of a key as `mapKey('linux', ...)` gives it: `ctrl` is `Control_L`, `€` is `U20AC`. */
export function keysymOf(key: string): string {
  if (/^[A-Za-z0-9]$/.test(key)) return key;
  if (isCharacter(key)) return `U${(key.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  return KEYSYMS.get(key) ?? key.toUpperCase();
}

/** Presses keys with xdotool, whose events every program takes, also for characters. */
export function xdotoolKeys(verb: 'key' | 'keydown' | 'keyup', keys: readonly string[]): string {
  const names = keys.map(keysymOf);
  return `xdotool ${verb} -- ${verb === 'key' ? names.join('+') : names.join(' ')}`;
}

/** Several clicks where the pointer is, quick enough to belong together. */
export function xdotoolClicks(button: 'left' | 'right' | 'middle', clicks: number): string {
  return `xdotool click --repeat ${clicks} --delay 40 ${{ left: 1, middle: 2, right: 3 }[button]}`;
}

/** True when the server's own way would lose the key in programs that refuse events sent to a window. */
export const needsXdotool = (keys: readonly string[]): boolean => keys.some(isCharacter);

/**
 * Keys of the keyboard that mean nothing, and which character each has been lent to, the one lent longest ago first. A
 * character that has no key of its own keeps a lent one after it has been typed: a busy program looks up what a key means
 * long after it was pressed. (xdotool by itself takes the key back at once, and such programs lose the character.)
 */
export interface KeyLoans {
  readonly free: readonly number[];
  readonly lent: ReadonlyMap<string, number>;
}

/** No layout has this name at the third place; it marks the keys that are lent. */
const LENT_MARK = 'VoidSymbol';

/** Reads `xmodmap -pke`: keys without a meaning, and those that were lent by an earlier reader. */
export function readFreeKeys(listing: string): number[] {
  return listing.split('\n').flatMap((line) => {
    const [word, code, equals, ...names] = line.trim().split(/\s+/);
    if (word !== 'keycode' || equals !== '=' || code === undefined) return [];
    return names.length === 0 || names[2] === LENT_MARK ? [Number(code)] : [];
  });
}

const PIECE_CHARACTERS = 300;
const DELAY_MS = 12;
/** Without keys to lend, xdotool lends and takes back each one itself. */
const LENDING_DELAY_MS = 60;

export interface TypingPiece {
  readonly command: string;
  readonly timeoutSeconds: number;
  readonly text: string;
}

/** Commands that type a text with xdotool, each short enough for one call, and the keys that are lent afterwards. */
export function planTyping(
  text: string,
  loans: KeyLoans,
): { readonly pieces: readonly TypingPiece[]; readonly loans: KeyLoans } {
  // Half of the keys at a time: those of the piece before may still be looked up.
  const atOnce = Math.floor(loans.free.length / 2);
  const lent = new Map(loans.lent);
  const pieces = splitText(text.replaceAll('\r\n', '\n'), atOnce).map((piece): TypingPiece => {
    const fresh = atOnce === 0 ? [] : lend(piece, loans.free, lent);
    const delay = atOnce === 0 && !isPlain(piece) ? LENDING_DELAY_MS : DELAY_MS;
    return {
      command: `${lendingCommand(fresh)}printf %s ${quotePosix(piece)} | xdotool type --delay ${delay} --file -`,
      timeoutSeconds: 10 + Math.ceil((piece.length * delay * 4) / 1000),
      text: piece,
    };
  });
  return { pieces, loans: { free: loans.free, lent } };
}

const isPlain = (text: string): boolean => /^[\n\t\x20-\x7e]*$/.test(text);
const needsKey = (character: string): boolean => !isPlain(character) && character !== '\r';

function splitText(text: string, atOnce: number): string[] {
  const pieces: string[] = [];
  let piece: string[] = [];
  let borrowing = new Set<string>();
  for (const character of text.match(/./gsu) ?? []) {
    const isNew = needsKey(character) && !borrowing.has(character);
    if (piece.length === PIECE_CHARACTERS || (isNew && atOnce > 0 && borrowing.size === atOnce)) {
      pieces.push(piece.join(''));
      piece = [];
      borrowing = new Set();
    }
    piece.push(character);
    if (needsKey(character)) borrowing.add(character);
  }
  return piece.length === 0 ? pieces : [...pieces, piece.join('')];
}

/** Lends each character of the piece a key: the one it has, one that is free, or the one lent longest ago. */
function lend(piece: string, free: readonly number[], lent: Map<string, number>): (readonly [string, number])[] {
  const fresh: (readonly [string, number])[] = [];
  for (const character of new Set(piece.match(/./gsu)?.filter(needsKey))) {
    const own = lent.get(character);
    const taken = new Set(lent.values());
    const key = own ?? free.find((code) => !taken.has(code)) ?? [...lent.values()][0] ?? 0;
    for (const [other, code] of lent) if (code === key) lent.delete(other);
    lent.set(character, key);
    if (own === undefined) fresh.push([character, key]);
  }
  return fresh;
}

function lendingCommand(fresh: readonly (readonly [string, number])[]): string {
  if (fresh.length === 0) return '';
  const changes = fresh.map(([character, code]) => {
    const name = keysymOf(character);
    return `-e 'keycode ${code} = ${name} ${name} ${LENT_MARK} ${LENT_MARK}'`;
  });
  return `xmodmap ${changes.join(' ')} && sleep 0.2; `;
}
