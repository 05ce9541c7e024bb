import type { DesktopParts, DesktopTool } from './cua-desktop-calls.ts';
import { keyboardTools } from './cua-desktop-keyboard.ts';
import type { GuiLog } from './cua-desktop-log.ts';
import { pointerTools } from './cua-desktop-pointer.ts';
import { createScreen, type ActionTrace } from './cua-desktop-screen.ts';
import { screenTools } from './cua-desktop-views.ts';
import { errorResult, messageOf, type Tool, type ToolResult } from './mcp-tools.ts';
import type { Turns } from './mcp-turns.ts';

/**
 * The desktop's tools. Calls are carried out one at a time in the order they came, waits and screenshots too, so that
 * calls sent together mean what they would mean one after the other.
 */
export function createDesktopTools(
  parts: Omit<DesktopParts, 'screen'>,
  { turns, log }: { readonly turns: Turns; readonly log: GuiLog },
): Tool[] {
  const screen = createScreen(parts.client, parts.settings.coordinateSpace);
  const all = { ...parts, screen };
  const tools = [...keyboardTools(all), ...pointerTools(all), ...screenTools(all)];
  return tools.map((tool) => ({
    ...tool,
    run: (given, { signal }) => turns.take(() => runLogged(tool, given, signal, log), signal),
  }));
}

async function runLogged(
  tool: DesktopTool,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  log: GuiLog,
): Promise<ToolResult> {
  const trace: ActionTrace = { pixels: [] };
  const at = new Date().toISOString();
  const begun = performance.now();
  const result = await attempt(() => tool.run(given, { signal, trace }));
  const first = result.content[0];
  await log({
    at,
    tool: tool.name,
    arguments: given,
    ...(trace.pixels.length === 0 ? {} : { pixels: trace.pixels }),
    ...(trace.screen === undefined ? {} : { screen: trace.screen }),
    durationMs: Math.round(performance.now() - begun),
    ok: result.isError !== true,
    ...(result.isError === true && first?.type === 'text' ? { error: first.text } : {}),
  });
  return result;
}

async function attempt(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    return errorResult(messageOf(error));
  }
}
