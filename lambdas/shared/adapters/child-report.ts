import type { ModuleEnd, ModuleReport } from '#ports/module-runner';
import type { Verdict } from './child-conversation.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly spawnError: string | null;
}

export interface Ending {
  readonly verdict: Verdict;
  readonly exit: Exit;
  readonly hasTimedOut: boolean;
  readonly timeoutSeconds: number;
  readonly memoryMiB: number;
  readonly stderrTail: string;
}

type ReportedEnd = Pick<
  ModuleReport,
  'end' | 'value' | 'valueKind' | 'errorName' | 'errorMessage' | 'exitCode' | 'signal'
>;

/** A shell that waits for a process tells its signal as 128 plus the number. */
const SIGNALS: Readonly<Record<number, string>> = {
  132: 'SIGILL',
  133: 'SIGTRAP',
  134: 'SIGABRT',
  135: 'SIGBUS',
  137: 'SIGKILL',
  139: 'SIGSEGV',
  143: 'SIGTERM',
  152: 'SIGXCPU',
  153: 'SIGXFSZ',
};
const VALUE_KINDS = ['json', 'undefined', 'nan', 'infinity', 'not-json'] as const;
const HEAP_EXHAUSTED = /out of memory|Committing semi space failed/i;
const ALLOCATION_REFUSED = /Array buffer allocation failed|Failed to allocate memory|could not allocate memory/i;

/** What a child's answer and exit say together. An answer counts only when the child gave it before its time was up. */
export function endOf(ending: Ending): ReportedEnd {
  const { verdict, exit } = ending;
  const signal = exit.signal ?? SIGNALS[exit.code ?? 0] ?? null;
  const exits = { exitCode: signal === null ? exit.code : null, signal };
  switch (verdict.kind) {
    case 'returned':
      return { ...returned(verdict), ...exits };
    case 'threw': {
      const isMemory = ALLOCATION_REFUSED.test(verdict.message);
      return { ...failed(isMemory ? 'memory' : 'threw', verdict.message, verdict.name), ...exits };
    }
    case 'broken':
      return { ...failed('not-json', verdict.message), ...exits };
    case 'silent':
      return { ...silent(ending, signal, verdict.wasReady), ...exits };
  }
}

/** The report of a child that could not be started at all. */
export function unavailable(error: unknown, durationSeconds: number): ModuleReport {
  const message = error instanceof Error ? error.message : String(error);
  return {
    ...failed('unavailable', message),
    exitCode: null,
    signal: null,
    hostFault: null,
    stdout: '',
    stderr: '',
    stdoutBytes: 0,
    stderrBytes: 0,
    durationSeconds,
  };
}

type Judged = Omit<ReportedEnd, 'exitCode' | 'signal'>;

function silent(ending: Ending, signal: string | null, wasReady: boolean): Judged {
  const { exit, stderrTail, timeoutSeconds, memoryMiB } = ending;
  if (exit.spawnError !== null) return failed('unavailable', exit.spawnError);
  if (!wasReady) return failed('unavailable', `the child ended before it was ready: ${stderrTail.slice(-1000)}`);
  if (ending.hasTimedOut || signal === 'SIGXCPU') return failed('timeout', `the limit is ${timeoutSeconds} s`);
  if (HEAP_EXHAUSTED.test(stderrTail)) return failed('memory', `the limit is ${memoryMiB} MiB`);
  return failed('exited', null);
}

function returned(verdict: Extract<Verdict, { kind: 'returned' }>): Judged {
  if (verdict.valueKind === 'too-large') return failed('result-too-large', verdict.message);
  const valueKind = VALUE_KINDS.find((kind) => kind === verdict.valueKind);
  if (valueKind === undefined) return failed('not-json', `an unknown kind of value: ${verdict.valueKind}`);
  if (valueKind === 'not-json') return { ...failed('not-json', verdict.message), valueKind };
  try {
    const value: unknown = valueKind === 'json' ? JSON.parse(verdict.text) : null;
    return { end: 'returned', value, valueKind, errorName: null, errorMessage: null };
  } catch {
    return failed('not-json', 'the value sent is no JSON');
  }
}

function failed(end: ModuleEnd, message: string | null, name: string | null = null): Judged {
  return { end, value: null, valueKind: 'none', errorName: name, errorMessage: message };
}
