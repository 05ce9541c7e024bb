import * as z from 'zod';
import { ExamHallError } from '#core/errors';
import type { Log, Ports } from '#ports/ports';
import { functionNamed } from '#contracts/functions';
import { composeAwsPorts } from './aws-ports.ts';
import { registeredPorts } from './ports-registry.ts';
import { logStrayRejections } from './stray-rejections.ts';

/** `context` is Lambda's; no other host gives one. */
export type Handler = (event: unknown, context?: unknown) => Promise<unknown>;

interface HandlerSpec<P, R> {
  /** As declared in `#contracts/functions`. */
  readonly name: string;
  readonly payload: z.ZodType<P>;
  readonly run: (payload: P, ports: Ports) => Promise<R>;
}

/**
 * Makes a function's entry: parses the payload, runs the use case with the host's ports, logs start and end under the
 * unit's keys. Where no host has registered ports, it composes those of AWS, once in the life of the process. Errors leave as they are, so that a state machine sees their names. What the payload holds of tokens and
 * signed URLs never reaches the log.
 * @throws PayloadInvalidError naming each wrong field.
 */
export function defineHandler<P, R>(spec: HandlerSpec<P, R>): Handler {
  const deployed = deployedPorts(spec.name);
  return async (event, context) => {
    const ports = registeredPorts() ?? (await deployed());
    const keys = { function: spec.name, ...textsNamed(context, CONTEXT_KEYS), ...textsNamed(event, KEYS) };
    const log = withKeys(ports.log, keys, secretsOf(event));
    log.info('function.started');
    try {
      const payload = parse(spec, event);
      const result = await spec.run(payload, { ...ports, log });
      log.info('function.finished');
      return result ?? null;
    } catch (error) {
      log.error('function.failed', { errorName: nameOf(error), message: messageOf(error) });
      throw error;
    }
  };
}

/** A process that could not compose its ports tries again at the next call. */
function deployedPorts(name: string): () => Promise<Ports> {
  let composed: Promise<Ports> | undefined;
  return async () => {
    composed ??= composeAwsPorts(functionNamed(name), process.env).then(
      (ports) => {
        logStrayRejections(ports.log, name);
        return ports;
      },
      (error: unknown) => {
        composed = undefined;
        throw error;
      },
    );
    return await composed;
  };
}

function parse<P, R>({ name, payload }: HandlerSpec<P, R>, event: unknown): P {
  const parsed = payload.safeParse(event);
  if (parsed.success) return parsed.data;
  const what = z.prettifyError(parsed.error);
  throw new ExamHallError('PayloadInvalidError', `${name} was called with a payload that does not fit: ${what}`);
}

const KEYS: readonly string[] = ['sweepId', 'unitId', 'attemptId', 'gradeId', 'jobId'];
const CONTEXT_KEYS: readonly string[] = ['awsRequestId'];
const SECRETS: readonly string[] = ['token', 'stageUrl'];

function textsOf(event: unknown, names: readonly string[]): readonly (readonly [name: string, text: string])[] {
  if (typeof event !== 'object' || event === null) return [];
  return Object.entries(event).flatMap(([name, value]: [string, unknown]) =>
    names.includes(name) && typeof value === 'string' && value !== '' ? [[name, value] as const] : [],
  );
}

function textsNamed(holder: unknown, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(textsOf(holder, names));
}

function secretsOf(event: unknown): readonly string[] {
  return textsOf(event, SECRETS).map(([, text]) => text);
}

function withKeys(log: Log, keys: Readonly<Record<string, unknown>>, secrets: readonly string[]): Log {
  const line = (fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> => {
    return masked({ ...keys, ...fields }, secrets) as Readonly<Record<string, unknown>>;
  };
  return {
    info: (event, fields) => {
      log.info(event, line(fields));
    },
    warn: (event, fields) => {
      log.warn(event, line(fields));
    },
    error: (event, fields) => {
      log.error(event, line(fields));
    },
  };
}

function masked(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, '***'), value);
  if (Array.isArray(value)) return value.map((item: unknown) => masked(item, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, masked(item, secrets)]));
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
