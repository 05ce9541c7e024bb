import * as z from 'zod';
import type { CuaClient } from '#adapters/cua-client';
import { defineTool, errorResult, textResult, type Tool, type ToolResult } from './mcp-tools.ts';
import { fileTools } from './vm-primitives-files.ts';
import { terminalTools } from './vm-primitives-pty.ts';
import type { TerminalHost } from './vm-primitives-terminal.ts';

/** How long a command may take that names no time, in seconds. */
const DEFAULT_COMMAND_SECONDS = 120;
/** Of each output; an answer holds them twice. */
const OUTPUT_LIMIT_BYTES = 1_000_000;

export interface PrimitiveTools {
  readonly tools: readonly Tool[];
  /** Ends the terminals that are still open. */
  close(): Promise<void>;
}

/** What an agent outside the sandbox needs of the machine besides its desktop: commands, files, clipboard, terminals. */
export function createPrimitiveTools(client: CuaClient, terminals: () => Promise<TerminalHost>): PrimitiveTools {
  const pty = terminalTools(terminals);
  return {
    tools: [commandTool(client), ...fileTools(client), ...clipboardTools(client), ...pty.tools],
    close: () => pty.close(),
  };
}

function commandTool(client: CuaClient): Tool {
  return defineTool({
    name: 'run_command',
    description:
      "Run a command in the machine's shell and wait until it ends. It gets no input, and nothing of the shell stays for the " +
      'next call: write cd and variables into the command. For programs that ask, stream or stay, use the pty tools.',
    parameters: {
      command: z.string().describe("The command, a line for the machine's shell."),
      timeout: z
        .number()
        .describe(`After how many seconds the command is ended; ${DEFAULT_COMMAND_SECONDS} when left out.`)
        .optional(),
    },
    result: {
      exit_code: z.int().describe('Exit code of the command.'),
      stdout: z.string().describe('What it wrote to standard output.'),
      stderr: z.string().describe('What it wrote to standard error.'),
    },
    run: async ({ command, timeout = DEFAULT_COMMAND_SECONDS }, { signal }): Promise<ToolResult> => {
      const { exitCode, stdout, stderr, timedOut } = await client.exec(command, {
        timeoutSeconds: timeout,
        outputLimitBytes: OUTPUT_LIMIT_BYTES,
        signal,
      });
      if (!timedOut && exitCode !== null) {
        return textResult(outputText(`exit_code: ${exitCode}`, stdout, stderr), {
          exit_code: exitCode,
          stdout,
          stderr,
        });
      }
      const why = `The command was ended: it took longer than ${timeout} s. A larger timeout, or a pty, gives it more.`;
      return errorResult(outputText(why, stdout, stderr));
    },
  });
}

function outputText(first: string, stdout: string, stderr: string): string {
  const isCut = [stdout, stderr].some((text) => Buffer.byteLength(text) >= OUTPUT_LIMIT_BYTES);
  return [
    first,
    `stdout:\n${stdout}`,
    ...(stderr === '' ? [] : [`stderr:\n${stderr}`]),
    ...(isCut ? [`[cut after ${OUTPUT_LIMIT_BYTES} bytes; let it go to a file to have all of it]`] : []),
  ].join('\n');
}

function clipboardTools(client: CuaClient): Tool[] {
  return [
    defineTool({
      name: 'read_clipboard',
      description: "Read the text on the clipboard of the machine's desktop.",
      parameters: {},
      run: async () => {
        const { content } = await client.call('copy_to_clipboard');
        return textResult(typeof content === 'string' ? content : '');
      },
    }),
    defineTool({
      name: 'write_clipboard',
      description: "Put text on the clipboard of the machine's desktop.",
      parameters: { text: z.string().describe('The text.') },
      run: async ({ text }) => {
        await client.call('set_clipboard', { text });
        return textResult(`Put ${Buffer.byteLength(text)} bytes on the clipboard.`);
      },
    }),
  ];
}
