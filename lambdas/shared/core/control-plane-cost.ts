import { CLOUD_CALLS } from './cloud-calls.ts';
import type { ControlPlaneCounts } from './cost-facts.ts';

/** What a function does for one unit without faults whose agent leaves one file, over all its calls. */
interface FunctionActions {
  readonly calls: number;
  /** Rows written one by one, and rows written in transactions, which cost twice. */
  readonly writes: number;
  readonly transactWrites: number;
  readonly reads: number;
  readonly objectPuts: number;
  readonly objectGets: number;
  readonly events: number;
}

/** States entered and functions called because an attempt reached a stage. */
interface StageActions {
  readonly states: readonly string[];
  readonly functions: readonly string[];
}

/** Whatever becomes of an attempt: it is admitted, released, recorded and closed. */
const EVERY_ATTEMPT: StageActions = {
  states: [
    'OpenUnit',
    'AdmitUnit',
    'ReleaseSandbox',
    'IsGradeDue',
    'RecordUnit',
    'CloseAttempt',
    'IsRetryDue',
    'CloseUnit',
  ],
  functions: [
    'admit-unit',
    'grant-slots',
    'release-sandbox',
    'record-unit',
    'close-attempt',
    'grant-slots',
    'close-unit',
  ],
};

const BY_STAGE: Readonly<Record<string, StageActions>> = {
  provision: { states: ['ProvisionSandbox'], functions: ['provision-sandbox'] },
  await: { states: ['AwaitSandbox'], functions: ['await-sandbox'] },
  stage: { states: ['StageUnit'], functions: ['stage-unit', 'on-run-finished'] },
  setup: { states: ['SetUpTask'], functions: ['set-up-task'] },
  run: { states: ['RunAgent'], functions: ['run-agent', 'on-run-finished'] },
  collect: { states: ['CollectOutput', 'IsOwnSandboxNeeded'], functions: ['collect-output', 'on-run-finished'] },
  grade: {
    states: [
      'GradeUnit',
      'IsSandboxReleased',
      'OpenGrade',
      'StageGrade',
      'IsSandboxNeeded',
      'RunGrader',
      'CommitGrade',
    ],
    functions: ['grade-unit', 'stage-grade', 'run-grader', 'commit-grade'],
  },
};

const actions = (...counts: readonly [number, number, number, number, number, number, number]): FunctionActions => {
  const [calls, writes, transactWrites, reads, objectPuts, objectGets, events] = counts;
  return { calls, writes, transactWrites, reads, objectPuts, objectGets, events };
};

/**
 * Calls, rows alone, rows in transactions, reads, object puts, object gets and events of each function for one unit. A test
 * runs such a unit on the real machines and functions, and its counts must be these.
 */
export const FUNCTION_ACTIONS: Readonly<Record<string, FunctionActions>> = {
  'admit-unit': actions(1, 1, 0, 2, 0, 0, 1),
  'grant-slots': actions(2, 0, 7, 16, 0, 0, 0),
  'provision-sandbox': actions(1, 4, 4, 9, 6, 6, 0),
  'await-sandbox': actions(1, 3, 1, 5, 0, 0, 0),
  'stage-unit': actions(1, 2, 0, 1, 1, 3, 0),
  'on-run-finished': actions(3, 3, 3, 15, 2, 2, 0),
  'set-up-task': actions(1, 2, 0, 2, 0, 3, 0),
  'run-agent': actions(1, 3, 0, 3, 1, 4, 0),
  'collect-output': actions(1, 2, 0, 1, 1, 3, 0),
  'release-sandbox': actions(1, 2, 4, 4, 0, 1, 0),
  'grade-unit': actions(1, 2, 0, 1, 0, 2, 0),
  'stage-grade': actions(1, 0, 0, 1, 3, 6, 0),
  'run-grader': actions(1, 0, 0, 0, 0, 0, 0),
  'commit-grade': actions(1, 0, 3, 4, 1, 1, 0),
  'record-unit': actions(1, 2, 0, 6, 9, 9, 0),
  'close-attempt': actions(1, 1, 5, 10, 0, 1, 1),
  'close-unit': actions(1, 5, 1, 11, 0, 0, 0),
};

/**
 * Billed seconds of one call: assumed, since only an account shows them. Functions that run modules of others take longer, and
 * one waits for a machine to start.
 */
export function assumedSeconds(name: string): number {
  if (name === 'await-sandbox') return 45;
  return ['set-up-task', 'run-grader', 'run-sandbox-grader', 'record-unit'].includes(name) ? 10 : 1;
}

/** Write units of a row, at 1 KB each: an attempt has a few KB, waits and slots some hundred bytes. */
export const WRITE_UNITS_PER_ROW = 2;

const MIB_PER_GIB = 1024;

/** Stages of an attempt that goes all the way. */
export const WHOLE_ATTEMPT: readonly string[] = Object.keys(BY_STAGE);

interface Sized {
  readonly name: string;
  readonly memoryMiB: number;
}

/**
 * What the pipeline does for one attempt that reached these stages: what each stage sets off, counted. Retries, the
 * watcher's beats and the sweep's own plan and report come on top and are not in it.
 */
export function countsOfStages(stages: readonly string[], functions: readonly Sized[]): ControlPlaneCounts {
  const reached = [
    EVERY_ATTEMPT,
    ...WHOLE_ATTEMPT.flatMap((stage) => (stages.includes(stage) ? (BY_STAGE[stage] ?? []) : [])),
  ];
  const called = reached.flatMap((each) => each.functions);
  const memory = new Map(functions.map(({ name, memoryMiB }) => [name, memoryMiB]));
  const perCall = (count: (each: FunctionActions) => number): number =>
    called.reduce((total, name) => {
      const all = FUNCTION_ACTIONS[name];
      return all === undefined ? total : total + count(all) / all.calls;
    }, 0);
  return {
    transitions: reached.reduce((total, { states }) => total + states.length, 0),
    invocations: called.length,
    gibSeconds: called.reduce(
      (total, name) => total + ((memory.get(name) ?? 0) / MIB_PER_GIB) * assumedSeconds(name),
      0,
    ),
    tableWriteUnits: perCall(({ writes, transactWrites }) => (writes + 2 * transactWrites) * WRITE_UNITS_PER_ROW),
    tableReadUnits: perCall(({ reads }) => reads),
    objectPuts: perCall(({ objectPuts }) => objectPuts),
    objectGets: perCall(({ objectGets }) => objectGets),
    events: perCall(({ events }) => events),
    scheduledInvocations: 0,
  };
}

/**
 * Requests sealed for the guest of an attempt that reached these stages: what each call of their functions asks by the table of
 * calls, as often as the stage's job was tried. Looks of the watcher and a grader's own questions come on top.
 */
export function sealedRequestsOf(stages: readonly string[], jobTries: Readonly<Record<string, number>>): number {
  const ofCall = (name: string): number =>
    (CLOUD_CALLS[name]?.sealedRequests ?? 0) / (FUNCTION_ACTIONS[name]?.calls ?? 1);
  const ofStage = (stage: string): number =>
    (BY_STAGE[stage]?.functions ?? []).reduce((total, name) => total + ofCall(name), 0);
  return WHOLE_ATTEMPT.filter((stage) => stages.includes(stage)).reduce(
    (total, stage) => total + ofStage(stage) * (jobTries[stage] ?? 1),
    0,
  );
}

/** States that an attempt enters which goes all the way, in no order. */
export function statesOfWholeAttempt(): readonly string[] {
  return [EVERY_ATTEMPT, ...Object.values(BY_STAGE)].flatMap(({ states }) => states);
}
