import type * as z from 'zod';
import { variablesOf, type Need } from '#contracts/needs';
import type { Trigger } from '#contracts/triggers';
import { variablesSchema } from '#contracts/variables';

/** All that a host has to know of a function to run it. */
export interface FunctionDeclaration {
  readonly name: string;
  /** Handler file, relative to the repository. */
  readonly entry: string;
  readonly runtime: 'nodejs24.x';
  readonly trigger: Trigger;
  readonly env: z.ZodType;
  readonly needs: readonly Need[];
  readonly memoryMiB: number;
  /** Room in its own folder of files: 512 at least, 10,240 at most (Lambda). */
  readonly ephemeralStorageMiB: number;
  readonly timeoutSeconds: number;
  readonly reservedConcurrency?: number;
}

/** All that a collect may hand over, a reference and an input fit beside each other where a grader reads them. */
const WORKSPACE_MIB = 10_240;

interface Shape {
  readonly memoryMiB?: number;
  readonly timeoutSeconds: number;
  readonly reservedConcurrency?: number;
}

/** What is said nowhere else follows from its name and its needs. */
export function declare(name: string, trigger: Trigger, needs: readonly Need[], shape: Shape): FunctionDeclaration {
  return {
    name,
    entry: `lambdas/${name}/handler.ts`,
    runtime: 'nodejs24.x',
    trigger,
    env: variablesSchema(variablesOf(needs)),
    needs,
    memoryMiB: shape.memoryMiB ?? 512,
    ephemeralStorageMiB: needs.some(({ port }) => port === 'workspace') ? WORKSPACE_MIB : 512,
    timeoutSeconds: shape.timeoutSeconds,
    ...(shape.reservedConcurrency === undefined ? {} : { reservedConcurrency: shape.reservedConcurrency }),
  };
}
