import { setTimeout as sleep } from 'node:timers/promises';
import type { CuaClient } from '#adapters/cua-client';
import type { CuaDesktop } from '#adapters/cua-desktop';
import type { ActionTrace, Screen } from './cua-desktop-screen.ts';
import type { DesktopSettings } from './cua-desktop-settings.ts';
import type { Tool, ToolCall } from './mcp-tools.ts';

/** What the tools act through. */
export interface DesktopParts {
  readonly client: CuaClient;
  readonly desktop: CuaDesktop;
  readonly screen: Screen;
  readonly settings: DesktopSettings;
}

/** One call of a desktop tool; what it does to the screen goes into `trace`. */
export interface DesktopCall extends ToolCall {
  readonly trace: ActionTrace;
}

export type DesktopTool = Tool<DesktopCall>;

/** Nothing sensible waits longer, and a harness gives up long before. */
const LONGEST_PAUSE_SECONDS = 3_600;

/** Waits; ends early, without an error, when the call is given up. @throws RangeError for a time that cannot be waited. */
export async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  checkPause(seconds);
  await sleep(seconds * 1_000, undefined, { signal }).catch(() => undefined);
}

/** @throws RangeError for a time that cannot be waited. */
export function checkPause(seconds: number): void {
  if (seconds >= 0 && seconds <= LONGEST_PAUSE_SECONDS) return;
  throw new RangeError(`duration is ${seconds}; allowed: 0 to ${LONGEST_PAUSE_SECONDS} seconds`);
}
