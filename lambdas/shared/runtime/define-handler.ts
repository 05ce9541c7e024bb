import * as z from 'zod';
import { ExamHallError } from '#core/errors';
import type { Log, Ports } from '#ports/ports';
import { currentPorts } from '#runtime/ports-registry';

export type Handler = (event: unknown) => Promise<unknown>;

interface HandlerSpec<P, R> {
  /** As declared in `#contracts/functions`. */
  readonly name: string;
  readonly payload: z.ZodType<P>;
  readonly run: (payload: P, ports: Ports) => Promise<R>;
}

/**
 * Makes a function's entry: parses the payload, runs the use case with the host's ports, logs start and end.
 * Errors leave as they are, so that a state machine sees their names.
 * @throws PayloadInvalidError naming each wrong field.
 */
export function defineHandler<P, R>(spec: HandlerSpec<P, R>): Handler {
  return async (event) => {
    const ports = currentPorts();
    const parsed = spec.payload.safeParse(event);
    if (!parsed.success) {
      throw new ExamHallError(
        'PayloadInvalidError',
        `${spec.name} was called with a payload that does not fit: ${z.prettifyError(parsed.error)}`,
      );
    }
    const log = withKeys(ports.log, { function: spec.name, ...keysOf(event) });
    log.info('function.started');
    try {
      const result = await spec.run(parsed.data, { ...ports, log });
      log.info('function.finished');
      return result ?? null;
    } catch (error) {
      log.error('function.failed', { errorName: nameOf(error), message: messageOf(error) });
      throw error;
    }
  };
}

function keysOf(event: unknown): Record<string, unknown> {
  if (typeof event !== 'object' || event === null) return {};
  const known = ['sweepId', 'unitId', 'attemptId', 'gradeId', 'jobId'];
  return Object.fromEntries(Object.entries(event).filter(([key]) => known.includes(key)));
}

function withKeys(log: Log, keys: Readonly<Record<string, unknown>>): Log {
  return {
    info: (event, fields) => {
      log.info(event, { ...keys, ...fields });
    },
    warn: (event, fields) => {
      log.warn(event, { ...keys, ...fields });
    },
    error: (event, fields) => {
      log.error(event, { ...keys, ...fields });
    },
  };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
