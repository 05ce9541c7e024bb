import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
  type Tool as ListedTool,
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';

export type ToolResult = CallToolResult;

export interface ToolCall {
  /** Aborted when the client cancels the call or this server ends. */
  readonly signal: AbortSignal;
}

/** A tool whose arguments are checked before `run` sees them. */
export interface Tool<Context = ToolCall> {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodObject;
  /** What `structuredContent` holds when the call went well. */
  readonly result?: z.ZodObject;
  /** @throws ArgumentError for arguments the schema does not allow; what else it throws becomes a tool error. */
  run(given: Readonly<Record<string, unknown>>, context: Context): Promise<ToolResult>;
}

/** Arguments that a tool does not take. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

const SHOWN_CHARACTERS = 200;
/** Clients made with the SDK close the connection at a message of 10 MiB. */
const LONGEST_ANSWER_BYTES = 9 * 1024 * 1024;

/** Ties a tool's parameters to the function that receives them. */
export function defineTool<Shape extends z.ZodRawShape, Context>(tool: {
  readonly name: string;
  readonly description: string;
  readonly parameters: Shape;
  readonly result?: z.ZodRawShape;
  run(given: z.output<z.ZodObject<Shape, z.core.$strict>>, context: Context): Promise<ToolResult>;
}): Tool<Context> {
  const parameters = z.strictObject(tool.parameters);
  return {
    name: tool.name,
    description: tool.description,
    parameters,
    ...(tool.result === undefined ? {} : { result: z.strictObject(tool.result) }),
    run: (given, context) => {
      const read = parameters.safeParse(given);
      if (!read.success)
        throw new ArgumentError(describeMismatch(tool.name, given, Object.keys(tool.parameters), read.error));
      return tool.run(read.data, context);
    },
  };
}

function describeMismatch(tool: string, given: unknown, allowed: readonly string[], error: z.ZodError): string {
  const problems = error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  const taken = allowed.length === 0 ? 'no arguments' : allowed.join(', ');
  return `${tool} was called with ${cut(JSON.stringify(given))}: ${problems.join('; ')}. It takes ${taken}.`;
}

/** Shortens what is shown of a text. */
export function cut(text: string, characters = SHOWN_CHARACTERS): string {
  return text.length <= characters ? text : `${text.slice(0, characters)}...`;
}

export function textResult(text: string, structuredContent?: Record<string, unknown>): ToolResult {
  return { content: [{ type: 'text', text }], ...(structuredContent === undefined ? {} : { structuredContent }) };
}

/** A failure that the model is to see and may act on. */
export function errorResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/** The text of anything thrown, for a model to read. */
export function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}

/** An MCP server with tools. */
export interface ToolServer {
  readonly protocol: ReturnType<typeof createProtocol>;
  /** Resolves when no call runs. */
  idle(): Promise<void>;
}

/** Whatever a tool throws is answered as a tool error; `ending` gives up the calls that run. */
export function createToolServer(
  info: { readonly name: string; readonly version: string },
  tools: readonly Tool[],
  ending: AbortSignal,
): ToolServer {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const listed = tools.map(describeTool);
  const running = new Set<Promise<unknown>>();
  const protocol = createProtocol(info);
  protocol.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
  protocol.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = byName.get(params.name);
    if (tool === undefined) {
      const names = [...byName.keys()].join(', ');
      const text = `there is no tool ${JSON.stringify(cut(params.name))}; the tools are ${names}`;
      throw new McpError(ErrorCode.InvalidParams, text);
    }
    const call = answer(tool, params.arguments ?? {}, AbortSignal.any([signal, ending]));
    running.add(call);
    return call.finally(() => running.delete(call));
  });
  return {
    protocol,
    idle: async () => {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

function createProtocol(info: { readonly name: string; readonly version: string }) {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- McpServer would bring a second zod and words of its own for bad arguments
  return new Server(info, { capabilities: { tools: {} } });
}

async function answer(tool: Tool, given: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolResult> {
  try {
    return withinLimit(await tool.run(given, { signal }));
  } catch (error) {
    return errorResult(messageOf(error));
  }
}

function withinLimit(result: ToolResult): ToolResult {
  const bytes = Buffer.byteLength(JSON.stringify(result));
  if (bytes <= LONGEST_ANSWER_BYTES) return result;
  return errorResult(
    `It was done, but its answer of ${bytes} bytes is longer than the ${LONGEST_ANSWER_BYTES} a client takes: ask for a part of it, or let it go to a file`,
  );
}

function describeTool({ name, description, parameters, result }: Tool): ListedTool {
  return {
    name,
    description,
    inputSchema: jsonSchema(parameters, 'input'),
    ...(result === undefined ? {} : { outputSchema: jsonSchema(result, 'output') }),
  };
}

function jsonSchema(schema: z.ZodObject, io: 'input' | 'output'): ListedTool['inputSchema'] {
  const made = z.toJSONSchema(schema, {
    target: 'draft-7',
    io,
    // The bounds of a double are no rule of the tool.
    override: ({ jsonSchema: part }) => {
      if (part.minimum === Number.MIN_SAFE_INTEGER) delete part.minimum;
      if (part.maximum === Number.MAX_SAFE_INTEGER) delete part.maximum;
    },
  });
  return { ...made, type: 'object' } as ListedTool['inputSchema'];
}
