import * as z from 'zod';
import { defineTool, textResult, type Tool } from './mcp-tools.ts';
import { startTerminal, type Terminal, type TerminalHost, type TerminalOutput } from './vm-primitives-terminal.ts';

const DEFAULT_READ_MS = 2_000;

const pid = z.int().describe('The pid that pty_start gave.');

/** Tools for programs that stay: a terminal each. */
export function terminalTools(host: () => Promise<TerminalHost>): { tools: readonly Tool[]; close(): Promise<void> } {
  const open = new Map<number, Terminal>();
  const find = (given: { readonly pid: number }): Terminal => {
    const terminal = open.get(given.pid);
    if (terminal !== undefined) return terminal;
    const pids = [...open.keys()].join(', ');
    throw new RangeError(`there is no terminal ${given.pid}; open are ${pids === '' ? 'none' : pids}`);
  };
  return {
    tools: [startTool(host, open), inputTool(find), readTool(find, open), resizeTool(find), killTool(find, open)],
    close: async () => {
      await Promise.all([...open.values()].map((terminal) => terminal.kill().catch(() => undefined)));
      open.clear();
    },
  };
}

type Find = (given: { readonly pid: number }) => Terminal;

function startTool(host: () => Promise<TerminalHost>, open: Map<number, Terminal>): Tool {
  const count = (what: string) => z.int().positive().describe(what).optional();
  return defineTool({
    name: 'pty_start',
    description:
      'Start a program in a terminal of its own on the machine, for what runs long or talks back. The answer holds the pid for ' +
      'pty_input, pty_read, pty_resize and pty_kill.',
    parameters: {
      command: z.string().describe('The program, a line for the shell; an interactive bash when left out.').optional(),
      cwd: z.string().describe('The folder it starts in.').optional(),
      env: z.record(z.string(), z.string()).describe('Variables to add to its environment.').optional(),
      cols: count('Width in characters; 80 when left out.'),
      rows: count('Height in lines; 24 when left out.'),
    },
    run: async (given) => {
      const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const terminal = await startTerminal(await host(), defined);
      open.set(terminal.pid, terminal);
      return textResult(`pid: ${terminal.pid}\ncols: ${terminal.cols}\nrows: ${terminal.rows}`);
    },
  });
}

function inputTool(find: Find): Tool {
  return defineTool({
    name: 'pty_input',
    description: 'Type into a terminal. End a line with \\n; control characters are allowed, \\u0003 is Ctrl-C.',
    parameters: { pid, data: z.string().describe('What to type, as it is.') },
    run: async ({ data, ...given }) => {
      const bytes = Buffer.from(data, 'utf8');
      await find(given).input(bytes);
      return textResult(`Sent ${bytes.length} bytes to terminal ${given.pid}.`);
    },
  });
}

function readTool(find: Find, open: Map<number, Terminal>): Tool {
  return defineTool({
    name: 'pty_read',
    description:
      'Read what a terminal has written since the last time, control sequences and all, and whether its program still runs. ' +
      'When there is nothing yet, it waits a while.',
    parameters: {
      pid,
      timeout_ms: z
        .int()
        .min(0)
        .describe(`How long to wait for output, in milliseconds; ${DEFAULT_READ_MS} when left out.`)
        .optional(),
    },
    run: async ({ timeout_ms: milliseconds = DEFAULT_READ_MS, ...given }, { signal }) => {
      const output = await find(given).read(milliseconds, signal);
      if (output.exited !== null && output.text === '') open.delete(given.pid);
      return textResult(describeOutput(output));
    },
  });
}

function describeOutput({ text, isCut, exited }: TerminalOutput): string {
  const state = exited === null ? '[running]' : `[exited, code ${exited.code ?? 'unknown'}]`;
  const lineEnd = text === '' || text.endsWith('\n') ? '' : '\n';
  return `${isCut ? '[older output is missing]\n' : ''}${text}${lineEnd}${state}`;
}

function resizeTool(find: Find): Tool {
  return defineTool({
    name: 'pty_resize',
    description: 'Change the size of a terminal.',
    parameters: {
      pid,
      cols: z.int().positive().describe('Width in characters.'),
      rows: z.int().positive().describe('Height in lines.'),
    },
    run: async ({ cols, rows, ...given }) => {
      await find(given).resize(cols, rows);
      return textResult(`Terminal ${given.pid} is ${cols}x${rows} now.`);
    },
  });
}

function killTool(find: Find, open: Map<number, Terminal>): Tool {
  return defineTool({
    name: 'pty_kill',
    description: 'End the program of a terminal and close it.',
    parameters: { pid },
    run: async (given) => {
      const terminal = find(given);
      open.delete(given.pid);
      await terminal.kill();
      return textResult(`Killed terminal ${given.pid}.`);
    },
  });
}
