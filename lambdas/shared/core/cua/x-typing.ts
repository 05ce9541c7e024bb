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

/** True when the server's own way would lose the key in programs that refuse events sent to a window. */
export const needsXdotool = (keys: readonly string[]): boolean => keys.some(isCharacter);

const PLAIN_DELAY_MS = 12;
/** A character without a key borrows one: programs need a moment to learn of it. */
const BORROWED_DELAY_MS = 40;

export interface TypingPiece {
  readonly command: string;
  readonly timeoutSeconds: number;
  readonly characters: number;
}

/** Commands that type a text with xdotool, each short enough for one call. */
export function xdotoolTyping(text: string): TypingPiece[] {
  const pieces: TypingPiece[] = [];
  for (const piece of text.replaceAll('\r\n', '\n').match(/.{1,400}/gsu) ?? []) {
    const delay = /^[\n\t\x20-\x7e]*$/.test(piece) ? PLAIN_DELAY_MS : BORROWED_DELAY_MS;
    pieces.push({
      command: `printf %s ${quotePosix(piece)} | xdotool type --delay ${delay} --file -`,
      timeoutSeconds: 10 + Math.ceil((piece.length * delay * 3) / 1000),
      characters: piece.length,
    });
  }
  return pieces;
}
