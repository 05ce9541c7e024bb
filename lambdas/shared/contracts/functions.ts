import { EVENT_SOURCE, EXECUTION_SOURCE, EXECUTION_STATUS_TYPE } from '#contracts/events';
import { declare, type FunctionDeclaration } from '#contracts/function-declaration';
import type { Need } from '#contracts/needs';
import { COMMAND_EVENTS, type Machine, type Trigger } from '#contracts/triggers';

const state = (machine: Machine, name: string): Trigger => ({ kind: 'state', machine, state: name });
const rows = { port: 'unitStore', access: 'write' } as const;
const rowsToRead = { port: 'unitStore', access: 'read' } as const;
const tokens = { port: 'tokens' } as const;
const timers = { port: 'timers', access: 'remove' } as const;
const newTimers = { port: 'timers', access: 'create' } as const;
const policy = { port: 'policy' } as const;
const runTree = { port: 'runTree' } as const;
const workspace = { port: 'workspace' } as const;
const modules = { port: 'modules' } as const;
const events = { port: 'events' } as const;
const jobs = { port: 'channel', access: 'jobs' } as const;
const call = { port: 'channel', access: 'call' } as const;
const describe = { port: 'sandboxes', access: 'describe' } as const;
const release = { port: 'sandboxes', access: 'release' } as const;
const offer = { port: 'sandboxes', access: 'offer' } as const;
const evidence = { port: 'sandboxes', access: 'evidence' } as const;
const staticMachines = { port: 'staticMachines' } as const;

const objects = (
  bucket: 'artifacts' | 'tasks' | 'references',
  access: 'read' | 'write' | 'remove' | 'deposit',
  ...keyPrefixes: readonly string[]
): Need => ({ port: 'artifacts', bucket, access, keyPrefixes });

const requests = objects('artifacts', 'read', 'sweeps/');
const catalog = objects('tasks', 'read', 'tasks/', 'agents/');

/** API Gateway gives a function 29 seconds. */
const API_SECONDS = 28;

/** Every function of the pipeline, once: both hosts build from this list and nothing else. */
export const FUNCTIONS: readonly FunctionDeclaration[] = [
  declare(
    'plan-sweep',
    state('sweep', 'PlanSweep'),
    [rows, objects('artifacts', 'write', 'sweeps/'), catalog, offer, runTree, events],
    { memoryMiB: 1024, timeoutSeconds: 900 },
  ),
  declare(
    'report-sweep',
    state('sweep', 'ReportSweep'),
    [rows, objects('artifacts', 'write', 'sweeps/'), objects('artifacts', 'read', 'attempts/'), runTree],
    { memoryMiB: 1024, timeoutSeconds: 900 },
  ),
  declare('admit-unit', state('unit', 'AdmitUnit'), [rows, events], { timeoutSeconds: 30 }),
  declare(
    'provision-sandbox',
    state('unit', 'ProvisionSandbox'),
    [
      rows,
      requests,
      catalog,
      objects('tasks', 'read', 'boot/'),
      objects('tasks', 'deposit', 'boot/'),
      { port: 'sandboxes', access: 'launch' },
      release,
      staticMachines,
      newTimers,
      runTree,
    ],
    { timeoutSeconds: 240 },
  ),
  declare('await-sandbox', state('unit', 'AwaitSandbox'), [rows, describe, jobs, staticMachines, tokens], {
    memoryMiB: 256,
    timeoutSeconds: 180,
  }),
  declare(
    'stage-unit',
    state('unit', 'StageUnit'),
    [
      rows,
      requests,
      catalog,
      objects('tasks', 'read', 'solutions/'),
      objects('artifacts', 'write', 'attempts/'),
      jobs,
      staticMachines,
    ],
    { timeoutSeconds: 240 },
  ),
  declare(
    'set-up-task',
    state('unit', 'SetUpTask'),
    [
      rows,
      requests,
      catalog,
      objects('artifacts', 'write', 'attempts/'),
      objects('artifacts', 'remove', 'attempts/'),
      jobs,
      call,
      staticMachines,
      modules,
      workspace,
    ],
    { memoryMiB: 1024, timeoutSeconds: 780 },
  ),
  declare('run-agent', state('unit', 'RunAgent'), [rows, requests, catalog, jobs, call, staticMachines, runTree], {
    timeoutSeconds: 420,
  }),
  declare(
    'collect-output',
    state('unit', 'CollectOutput'),
    [
      rows,
      requests,
      catalog,
      objects('artifacts', 'write', 'attempts/'),
      describe,
      jobs,
      call,
      staticMachines,
      runTree,
    ],
    { timeoutSeconds: 540 },
  ),
  declare(
    'grade-unit',
    state('unit', 'GradeUnit'),
    [rows, requests, catalog, { port: 'executions', machines: ['grade'] }, tokens],
    { timeoutSeconds: 60 },
  ),
  declare(
    'release-sandbox',
    state('unit', 'ReleaseSandbox'),
    [rows, requests, objects('artifacts', 'write', 'attempts/'), describe, release, evidence, staticMachines, timers],
    { timeoutSeconds: 240, reservedConcurrency: 20 },
  ),
  declare(
    'record-unit',
    state('unit', 'RecordUnit'),
    [
      rows,
      requests,
      catalog,
      objects('artifacts', 'read', 'grades/'),
      objects('artifacts', 'write', 'attempts/'),
      describe,
      staticMachines,
      modules,
      workspace,
      runTree,
    ],
    { memoryMiB: 1024, timeoutSeconds: 660 },
  ),
  declare(
    'close-attempt',
    state('unit', 'CloseAttempt'),
    [rows, requests, objects('artifacts', 'remove', 'attempts/', 'grades/'), describe, staticMachines, events],
    { timeoutSeconds: 60 },
  ),
  declare('close-unit', state('unit', 'CloseUnit'), [rows, tokens], { timeoutSeconds: 60 }),
  declare(
    'stage-grade',
    state('grade', 'StageGrade'),
    [
      rowsToRead,
      requests,
      catalog,
      objects('references', 'read', 'tasks/'),
      objects('artifacts', 'read', 'attempts/'),
      objects('artifacts', 'write', 'grades/'),
      runTree,
    ],
    { timeoutSeconds: 240 },
  ),
  declare('run-grader', state('grade', 'RunGrader'), [modules, workspace], { memoryMiB: 2048, timeoutSeconds: 720 }),
  declare(
    'run-sandbox-grader',
    state('grade', 'RunSandboxGrader'),
    [rowsToRead, modules, workspace, call, jobs, staticMachines],
    {
      memoryMiB: 2048,
      timeoutSeconds: 720,
    },
  ),
  declare('call-guest', { kind: 'call' }, [{ port: 'guestCalls' }], {
    memoryMiB: 1024,
    timeoutSeconds: 660,
    reservedConcurrency: 50,
  }),
  declare(
    'commit-grade',
    state('grade', 'CommitGrade'),
    [
      rows,
      objects('artifacts', 'read', 'grades/'),
      objects('artifacts', 'remove', 'grades/'),
      objects('artifacts', 'write', 'attempts/'),
      tokens,
    ],
    { timeoutSeconds: 60 },
  ),
  declare(
    'grant-slots',
    {
      kind: 'event',
      source: EVENT_SOURCE,
      detailTypes: ['unit.waiting', 'slot.freed', 'sweep.changed'],
      everySeconds: 10,
    },
    [rows, tokens, events, policy],
    { timeoutSeconds: 120, reservedConcurrency: 1 },
  ),
  declare(
    'on-run-finished',
    {
      kind: 'event',
      source: EVENT_SOURCE,
      detailTypes: ['guest.job-finished'],
      also: [COMMAND_EVENTS],
    },
    [rows, jobs, staticMachines, tokens, runTree],
    { timeoutSeconds: 180, reservedConcurrency: 50 },
  ),
  declare(
    'on-execution-failed',
    {
      kind: 'event',
      source: EXECUTION_SOURCE,
      detailTypes: [EXECUTION_STATUS_TYPE],
      detail: { status: ['FAILED', 'TIMED_OUT', 'ABORTED'] },
    },
    [rows, objects('artifacts', 'write', 'attempts/'), release, evidence, staticMachines, timers, tokens, events],
    { timeoutSeconds: 240, reservedConcurrency: 20 },
  ),
  declare(
    'watch-runs',
    { kind: 'schedule', everySeconds: 60 },
    [rows, jobs, describe, staticMachines, tokens, runTree],
    {
      timeoutSeconds: 240,
      reservedConcurrency: 1,
    },
  ),
  declare(
    'reap-sandboxes',
    { kind: 'event', source: EVENT_SOURCE, detailTypes: ['sandboxes.reap-asked'], everySeconds: 300 },
    [
      rows,
      requests,
      objects('artifacts', 'write', 'attempts/'),
      describe,
      release,
      evidence,
      staticMachines,
      timers,
      tokens,
    ],
    { timeoutSeconds: 900, reservedConcurrency: 1 },
  ),
  declare('expire-sandbox', { kind: 'timer' }, [rows, release, staticMachines, timers, tokens], {
    timeoutSeconds: 180,
    reservedConcurrency: 20,
  }),
  declare(
    'answer-queries',
    { kind: 'api' },
    [rowsToRead, objects('artifacts', 'read', 'sweeps/', 'attempts/', 'runs/'), describe, policy],
    {
      memoryMiB: 1024,
      timeoutSeconds: API_SECONDS,
    },
  ),
  declare(
    'accept-commands',
    { kind: 'api' },
    [
      rows,
      objects('artifacts', 'write', 'sweeps/'),
      catalog,
      objects('tasks', 'deposit', 'tasks/', 'agents/', 'solutions/'),
      objects('references', 'deposit', 'tasks/'),
      describe,
      offer,
      { port: 'executions', machines: ['sweep', 'grade'] },
      events,
      policy,
    ],
    { memoryMiB: 1024, timeoutSeconds: API_SECONDS },
  ),
];

/** State name in kebab case is the function's name. @throws TypeError for an unknown function. */
export function functionNamed(name: string): FunctionDeclaration {
  const found = FUNCTIONS.find((declaration) => declaration.name === name);
  if (found === undefined) {
    throw new TypeError(
      `unknown function ${JSON.stringify(name)}; declared: ${FUNCTIONS.map((each) => each.name).join(', ')}`,
    );
  }
  return found;
}
