import { GUEST_CONTRACT_VERSION, type GuestHello, type GuestState } from '#contracts/guest';
import { HELLO_REQUEST } from '#core/guest-documents';
import type { GuestReadiness } from '#ports/channel';
import type { Sandbox, SandboxDesktop } from '#ports/sandbox-provider';
import { GuestHelloSchema, parseGuestJson } from './guest-answers.ts';
import type { SsmCommands } from './ssm-commands.ts';

/** A runner that takes longer to say hello is asked again later. */
export const HELLO_SECONDS = 30;

/**
 * Asks step by step what a guest still lacks: an agent that is online, a runner that says hello, a console session and a
 * picture of the asked size on the screen where it has those. A screen is given its size before its server starts, so another one
 * is there to stay.
 */
export async function readinessOf(sandbox: Sandbox, commands: SsmCommands): Promise<GuestReadiness> {
  const { sandboxId, sealingKey, desktop } = sandbox;
  if (!(await commands.isOnline(sandboxId))) return { state: 'waiting', waitsFor: 'agent-online' };
  const said = await helloOf(sandbox, commands);
  if (said === undefined) return { state: 'waiting', waitsFor: 'runner' };
  if (!('publicKey' in said)) {
    const wanted = `this Exam Hall speaks ${String(GUEST_CONTRACT_VERSION)}; make the image with the same release`;
    return { state: 'failed', reason: `the runner speaks version ${String(said.version)}, ${wanted}` };
  }
  if (sealingKey !== undefined && said.publicKey !== sealingKey)
    return { state: 'failed', reason: 'the runner has another key than it had told before' };
  const lack = desktop === null ? null : lackOfDesktop(desktop, said.state);
  return lack ?? { state: 'ready', sealingKey: said.publicKey };
}

function lackOfDesktop({ size }: SandboxDesktop, state: GuestState): GuestReadiness | null {
  if (state.hasConsoleSession === false) return { state: 'waiting', waitsFor: 'session' };
  if (!state.answersCua || state.isScreenBlack !== false) return { state: 'waiting', waitsFor: 'screen' };
  if (size === undefined || state.screenSize === size) return null;
  const seen =
    state.screenSize === null
      ? 'its runner does not tell the size of the screen; make the image with this release'
      : `its screen is ${state.screenSize}`;
  const note = state.screenNote === null ? '' : `; on the machine: ${state.screenNote}`;
  return { state: 'failed', reason: `${seen}, and ${size} is asked for (\`resolution\` of its snapshot)${note}` };
}

/** Undefined while there is no runner that answers with its hello; whatever else is said is none. */
async function helloOf(
  sandbox: Sandbox,
  commands: SsmCommands,
): Promise<GuestHello | { readonly version: number } | undefined> {
  const commandId = await commands.send('run', sandbox.sandboxId, HELLO_REQUEST).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'ChannelUnavailableError') return undefined;
    throw error;
  });
  const ended = commandId === undefined ? undefined : await commands.ended(sandbox, commandId, HELLO_SECONDS);
  if (ended?.isDone !== true) return undefined;
  const said = parseGuestJson(GuestHelloSchema, ended.output.split('\n')[0] ?? '');
  return 'answer' in said ? said.answer : undefined;
}
