import type { LedgerClass } from './denominators.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Controls, unpaired surrogates, and what turns or hides text: shown by code instead of doing its work. */
const UNSEEN =
  /[\p{Cc}\p{Cs}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ufffe\uffff\u{e0000}-\u{e0fff}]/gu;

/** Text for element content and quoted attributes. Line feeds become spaces; unseen characters become `[U+202E]`. */
export function escapeHtml(text: string): string {
  return text
    .replace(/\r\n|[\n\r\t]/gu, ' ')
    .replace(UNSEEN, (character) => `[U+${codeOf(character)}]`)
    .replace(/[&<>"']/gu, (character) => ENTITIES[character] ?? '');
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}

/** A relative link to a path below the report's folder; null for a path that would leave it. */
export function relativeHref(path: string): string | null {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..' || /\p{Cs}/u.test(part))) return null;
  return `./${parts.map((part) => encodeURIComponent(part).replaceAll("'", '%27')).join('/')}`;
}

/** `task_fault` -> `task fault` */
export function classWord(name: LedgerClass): string {
  return name.replace('_', ' ');
}

/** `0.583`; a dash for nothing. */
export function scoreText(score: number | null): string {
  return score === null ? '–' : score.toFixed(3);
}

/** `66.7 %`; a dash for nothing. */
export function percentText(share: number | null): string {
  return share === null ? '–' : `${(share * 100).toFixed(1)} %`;
}

/** `12.3 s`, `4 min 05 s`, `2 h 03 min`; a dash for nothing. */
export function durationText(seconds: number | null): string {
  if (seconds === null) return '–';
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${String(Math.floor(whole / 60))} min ${String(whole % 60).padStart(2, '0')} s`;
  const minutes = Math.round(whole / 60);
  return `${String(Math.floor(minutes / 60))} h ${String(minutes % 60).padStart(2, '0')} min`;
}
