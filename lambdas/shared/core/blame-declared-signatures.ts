import {
  AGENT_FORFEIT,
  notRun,
  PLATFORM_FINAL,
  PLATFORM_RETRY,
  see,
  TASK_FAULT,
  type Consequence,
  type Signature,
} from './blame-signature.ts';
import { ERROR_KINDS, ERROR_NAMES, type ErrorName } from './errors.ts';

type Declared = readonly [then: Consequence, note: string, exampleMessage: string];

const REFUSED = notRun('refused');

/** What follows each error of ours when no narrower row answers first. */
const DECLARED: Readonly<Record<ErrorName, Declared>> = {
  InvalidRequestError: [REFUSED, 'the request is wrong', 'max_attempts is 4; allowed are 1 to 3'],
  UnknownAgentError: [REFUSED, 'no such agent', 'agent "codx" is not known'],
  UnknownTaskError: [REFUSED, 'no such task', 'task "legal/x" is not known'],
  UnknownVariantError: [REFUSED, 'no such variant', 'variant 7 of 5'],
  DuplicateUnitError: [REFUSED, 'a unit is asked for twice', 'demo/hello v0 twice'],
  SandboxRefusedError: [REFUSED, 'no sandbox here can do what is asked', 'network "sealed" is not offered by process'],
  PayloadInvalidError: [PLATFORM_FINAL, 'a step of ours sent another something malformed', 'unitId: expected string'],
  EnvironmentInvalidError: [PLATFORM_FINAL, 'a function of ours is set up wrongly', 'TABLE_NAME is not set'],
  DeadlinePassedError: [notRun('deadline'), 'the deadline of the sweep passed', 'deadline 2026-12-01T10:00:00Z passed'],
  BudgetExhaustedError: [notRun('budget'), 'the budget of the sweep is used up', '100.00 of 100.00 USD reserved'],
  SweepCancelledError: [notRun('cancelled'), 'the sweep was cancelled', 'cancelled by its owner'],
  CapacityUnavailableError: [PLATFORM_RETRY, 'no provider had a machine', 'no pool of 4 had capacity'],
  ImageMissingError: [PLATFORM_FINAL, 'the image does not exist here', 'image ale-win10 has no AMI in eu-west-1'],
  ProvisionFailedError: [PLATFORM_RETRY, 'the sandbox could not be made', 'mkdir failed'],
  SandboxNotReadyError: [PLATFORM_RETRY, 'the sandbox never became ready', 'no answer within 600 s'],
  SandboxLostError: [PLATFORM_RETRY, 'the sandbox was lost before the agent acted', 'machine i-0a1 is gone'],
  ChannelUnavailableError: [
    PLATFORM_RETRY,
    'the guest did not answer before the agent acted',
    'no answer from port 5000',
  ],
  StagingFailedError: [PLATFORM_RETRY, 'inputs could not be put in place', 'input/w2.json: HTTP 500'],
  TaskLoadError: [TASK_FAULT, 'the task does not load', 'load threw: x is not a function'],
  TaskSetupError: [TASK_FAULT, 'the set-up of the task failed', 'start threw: app.html is missing'],
  TaskCardError: [TASK_FAULT, 'the card of the task is wrong', 'vm.timeout is 1.5; expected a whole number of seconds'],
  AgentNotStoppedError: [AGENT_FORFEIT, 'processes of the agent could not be ended', '2 processes left after 60 s'],
  StopUnconfirmedError: [
    PLATFORM_RETRY,
    'nobody could tell whether the agent had ended, and its provider knows of a fault',
    'no two looks in a row saw nothing of it',
  ],
  AgentLaunchError: [PLATFORM_RETRY, 'the agent could not be started', 'spawn failed: launch.sh'],
  HeartbeatLostError: [PLATFORM_RETRY, 'our watcher lost sight of the job', 'no beat for 300 s'],
  CollectFailedError: [PLATFORM_RETRY, 'the output could not be taken over', 'upload: HTTP 500'],
  GraderFailedError: [TASK_FAULT, 'the grader failed', 'evaluate threw: cannot read properties of undefined'],
  GraderUnavailableError: [PLATFORM_RETRY, 'no grader could be started', 'child did not start'],
  ReferenceMissingError: [TASK_FAULT, 'the reference of the task is missing', 'reference/base is empty'],
  ReleaseFailedError: [
    PLATFORM_FINAL,
    'the sandbox could not be released; the reaper goes on',
    'i-0a1 is still running',
  ],
  TeardownPendingError: [PLATFORM_FINAL, 'something made for the attempt is still there', 'vol-0a1 is still attached'],
  RecordConflictError: [PLATFORM_FINAL, 'another attempt holds the result of the unit', 'attempt .2 has won'],
  RecordFailedError: [PLATFORM_RETRY, 'the record could not be written', 'put record.json: HTTP 500'],
  HostRestartedError: [
    { ...PLATFORM_RETRY, countsAsAttempt: false },
    'the host restarted; the attempt does not count',
    'found open after a restart',
  ],
  ExecutionAbortedError: [PLATFORM_RETRY, 'the execution was stopped from outside', 'status ABORTED'],
  ConditionFailedError: [PLATFORM_RETRY, 'a row changed under us', 'UNIT#x has version 4, expected 3'],
  RowTooLargeError: [PLATFORM_FINAL, 'a row is larger than the store takes', '410 KB of 400 KB'],
  StoreUnavailableError: [PLATFORM_RETRY, 'the unit store did not answer', 'database is locked'],
  StorageFullError: [PLATFORM_FINAL, 'a disk of ours is full', 'no room for run.json'],
  StorageReadOnlyError: [PLATFORM_FINAL, 'a disk of ours cannot be written', 'cannot write run.json'],
  ObjectNotFoundError: [PLATFORM_RETRY, 'an artefact is missing', 'attempts/x/output.json'],
  ObjectExistsError: [PLATFORM_FINAL, 'an artefact is there already', 'grade-1.json'],
  ChecksumMismatchError: [PLATFORM_RETRY, 'an artefact arrived changed', 'sha256 ab..., expected cd...'],
  UnsafePathError: [AGENT_FORFEIT, 'the output tries to leave its folder', 'output/../../etc/passwd'],
};

/** One row per declared error. */
export const DECLARED_SIGNATURES: readonly Signature[] = ERROR_NAMES.map((name) => {
  const [then, note, message] = DECLARED[name];
  return { id: idOf(name), when: { names: [name] }, then, note, example: see(name, message, ERROR_KINDS[name].stage) };
});

/** `SandboxLostError` -> `sandbox-lost`. */
function idOf(name: ErrorName): string {
  return name
    .replace(/Error$/u, '')
    .replace(/(?<=[a-z])(?=[A-Z])/gu, '-')
    .toLowerCase();
}
