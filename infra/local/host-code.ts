import path from 'node:path';
import { functionNamed } from '#contracts/functions';
import { REPOSITORY } from '../bundler.ts';
import { loadMachines } from './machines.ts';

/** Where a host's handlers and machines come from. */
export interface HostCode {
  /** Module that exports the function's handler. */
  readonly handlerFile: (name: string) => string;
  /** Parsed ASL by the machine's name; buckets go by our own names for them. */
  readonly machines: Readonly<Record<string, unknown>>;
  /** Declared name of the function that a machine calls by this text. */
  readonly functionNamed: (text: string) => string;
}

export function sourceHandler(name: string): string {
  return path.join(REPOSITORY, functionNamed(name).entry);
}

/** This repository's sources, whose machines call functions by their names. */
export async function sourceCode(): Promise<HostCode> {
  return {
    handlerFile: sourceHandler,
    machines: await loadMachines(),
    functionNamed: (text) => text,
  };
}
