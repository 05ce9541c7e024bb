import type { CoordinateSpace } from '#core/cua/coordinates';
import { GUI_EVENTS_VARIABLE } from '#core/cua/gui-event';

const SPACES = ['normalized', 'pixel'] as const satisfies readonly CoordinateSpace[];
const TEXT_INPUT_MODES = ['auto', 'keystroke', 'clipboard'] as const;

/**
 * How text reaches the program in front: by the keyboard (`keystroke`), by the clipboard and its paste keys (`clipboard`),
 * or whichever is sure to arrive (`auto`).
 */
export type TextInputMode = (typeof TEXT_INPUT_MODES)[number];

export interface DesktopSettings {
  readonly serverUrl: string;
  readonly coordinateSpace: CoordinateSpace;
  readonly textInputMode: TextInputMode;
  /** How long one command of the server may take. */
  readonly commandSeconds: number;
  /** The file that calls are written to; null when nobody asked for one. */
  readonly guiEvents: string | null;
}

/** Of one command; the harness hears of a silent server within 30 s. */
const COMMAND_SECONDS = 28;

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the cua-server is, and how long it may take. @throws RangeError naming the variable and what it allows. */
export function readServerSettings(env: Environment): Pick<DesktopSettings, 'serverUrl' | 'commandSeconds'> {
  const serverUrl = env['CUA_SERVER_URL']?.trim() || 'http://localhost:5000';
  const { protocol } = URL.canParse(serverUrl) ? new URL(serverUrl) : { protocol: '' };
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new RangeError(`CUA_SERVER_URL is ${JSON.stringify(serverUrl)}; allowed: an http:// or https:// address`);
  }
  const seconds = env['CUA_TIMEOUT_SECONDS']?.trim() || String(COMMAND_SECONDS);
  if (!(Number(seconds) > 0 && Number(seconds) <= 600)) {
    throw new RangeError(`CUA_TIMEOUT_SECONDS is ${JSON.stringify(seconds)}; allowed: above 0, up to 600`);
  }
  return { serverUrl: serverUrl.replace(/\/+$/, ''), commandSeconds: Number(seconds) };
}

/** @throws RangeError naming the variable and what it allows. */
export function readDesktopSettings(env: Environment): DesktopSettings {
  return {
    ...readServerSettings(env),
    coordinateSpace: oneOf(env, 'CUA_COORDINATE_SPACE', SPACES),
    textInputMode: oneOf(env, 'CUA_TEXT_INPUT_MODE', TEXT_INPUT_MODES),
    guiEvents: env[GUI_EVENTS_VARIABLE] || null,
  };
}

/** The first choice is the one taken when the variable is not set. */
function oneOf<Choice extends string>(env: Environment, name: string, choices: readonly [Choice, ...Choice[]]): Choice {
  const given = env[name]?.trim().toLowerCase() || choices[0];
  const found = choices.find((choice) => choice === given);
  if (found === undefined) throw new RangeError(`${name} is ${JSON.stringify(given)}; allowed: ${choices.join(', ')}`);
  return found;
}
