/** What goes wrong while one unit runs on EC2, as data: the stand-in suffers it for real, a model may do so too. */
export type ScenarioFault =
  /** A zone has no machines of any type; `*` is every zone. */
  | { readonly kind: 'sold-out'; readonly zone: string; readonly seconds: number }
  | { readonly kind: 'quota'; readonly vCpus: number; readonly seconds: number }
  /** The first machine is not found by so many looks. */
  | { readonly kind: 'hidden'; readonly looks: number }
  | { readonly kind: 'never-online' }
  | { readonly kind: 'black-screen' }
  /** Events of the waits for jobs, each: lost (0), told twice (2), or late. */
  | { readonly kind: 'events'; readonly copies: number; readonly lateSeconds: number }
  /** `awaiting` is 20 s after the launch, `running` once the agent has begun. */
  | { readonly kind: 'machine-lost'; readonly when: 'awaiting' | 'running'; readonly loss: ScenarioLoss }
  /** The first machine hangs in its shutdown unless its system is not asked. */
  | { readonly kind: 'slow-terminate'; readonly seconds: number }
  /** Volumes and interfaces of the first machine outlive it. */
  | { readonly kind: 'leaves-parts' }
  /** The effect takes place, the answer is lost: so many calls on end, retries of the client included. */
  | { readonly kind: 'answer-lost'; readonly operation: string; readonly times: number }
  | { readonly kind: 'throttled'; readonly operation: string; readonly times: number }
  | { readonly kind: 'wall-limit'; readonly seconds: number }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'provisioned-twice' }
  /** Once the agent has begun, every other function is dead until the machine has ended. */
  | { readonly kind: 'all-dead-but'; readonly alive: 'expire-sandbox' | 'reap-sandboxes' | 'guest timer' };

export type ScenarioLoss = 'spot' | 'host' | 'status-check' | 'retired' | 'operator' | 'shutdown' | 'vanished';

/** What must come of it. Nothing is left afterwards, in each of them. */
export interface ScenarioOutcome {
  readonly unitClass: string;
  readonly score: number | null;
  /** Whose doing each attempt's end was, by `#core/blame`. */
  readonly blames: readonly string[];
  readonly machines: number;
}

export interface CloudScenario {
  readonly name: string;
  readonly part: 'launch' | 'run' | 'end';
  readonly agent: 'quick' | 'endless';
  readonly faults: readonly ScenarioFault[];
  readonly expected: ScenarioOutcome;
  /** What shows that the fault was there: a call made so often at least, the zone of the last machine, a line of the log. */
  readonly shows?: {
    readonly calls?: readonly [operation: string, atLeast: number];
    readonly zone?: string;
    readonly log?: string;
  };
}

type Faults = readonly ScenarioFault[];

const scored = (machines = 1, blames: readonly string[] = ['agent']): ScenarioOutcome => ({
  unitClass: 'scored',
  score: 1,
  blames,
  machines,
});
/** The first attempt is lost to the platform, the second counts. */
const again = scored(2, ['platform', 'agent']);
const lost = (...blames: readonly string[]): ScenarioOutcome => ({
  unitClass: 'lost',
  score: null,
  blames,
  machines: blames.length,
});
const ended = (unitClass: string, blame: string): ScenarioOutcome => ({
  unitClass,
  score: null,
  blames: [blame],
  machines: 1,
});
const lossOf = (when: 'awaiting' | 'running', loss: ScenarioLoss): Faults => [{ kind: 'machine-lost', when, loss }];
const lostAnswers = (operation: string): Faults => [{ kind: 'answer-lost', operation, times: 3 }];

const LAUNCHES: readonly Omit<CloudScenario, 'part' | 'agent'>[] = [
  {
    name: 'nothing goes wrong',
    faults: [],
    expected: scored(),
    shows: { calls: ['Invoke', 1], zone: 'us-east-1a' },
  },
  {
    name: 'a zone is sold out',
    faults: [{ kind: 'sold-out', zone: 'us-east-1a', seconds: 86_400 }],
    expected: scored(),
    shows: { calls: ['RunInstances', 2], zone: 'us-east-1b' },
  },
  {
    name: 'every zone is sold out for a while',
    faults: [{ kind: 'sold-out', zone: '*', seconds: 120 }],
    expected: scored(),
    shows: { calls: ['RunInstances', 3] },
  },
  {
    name: 'the quota allows no machine for a while',
    faults: [{ kind: 'quota', vCpus: 0, seconds: 120 }],
    expected: scored(),
    shows: { calls: ['RunInstances', 2] },
  },
  {
    name: 'the machine is not known right after its launch',
    faults: [{ kind: 'hidden', looks: 3 }],
    expected: scored(),
  },
  { name: 'the agent of the cloud never comes online', faults: [{ kind: 'never-online' }], expected: again },
  { name: 'the screen stays black', faults: [{ kind: 'black-screen' }], expected: again },
  { name: 'a machine is lost before it is ready, with evidence', faults: lossOf('awaiting', 'spot'), expected: again },
  {
    name: 'a machine is lost before it is ready, without evidence',
    faults: lossOf('awaiting', 'vanished'),
    expected: again,
  },
  {
    name: 'a machine is provisioned twice',
    faults: [{ kind: 'provisioned-twice' }],
    expected: scored(),
    shows: { calls: ['RunInstances', 2] },
  },
];

const RUNS: readonly Omit<CloudScenario, 'part'>[] = [
  {
    name: 'events are lost',
    agent: 'quick',
    faults: [{ kind: 'events', copies: 0, lateSeconds: 0 }],
    expected: scored(),
    shows: { log: 'job.lost-event' },
  },
  {
    name: 'events are told twice',
    agent: 'quick',
    faults: [{ kind: 'events', copies: 2, lateSeconds: 0 }],
    expected: scored(),
  },
  {
    name: 'events are late',
    agent: 'quick',
    faults: [{ kind: 'events', copies: 1, lateSeconds: 1800 }],
    expected: scored(),
    shows: { log: 'job.lost-event' },
  },
  {
    name: 'a machine is lost under the agent, with evidence',
    agent: 'endless',
    faults: lossOf('running', 'spot'),
    expected: lost('platform', 'platform'),
  },
  {
    name: 'a machine fails its check under the agent',
    agent: 'endless',
    faults: lossOf('running', 'status-check'),
    expected: lost('platform', 'platform'),
  },
  {
    name: 'a machine is shut down under the agent, without evidence',
    agent: 'endless',
    faults: lossOf('running', 'shutdown'),
    expected: ended('forfeited', 'agent'),
  },
  {
    name: 'a host fails under the agent, and what the machine was made of outlives it',
    agent: 'endless',
    faults: [...lossOf('running', 'host'), { kind: 'leaves-parts' }],
    expected: lost('platform', 'platform'),
    shows: { calls: ['DeleteVolume', 1] },
  },
  {
    name: 'a machine is retired under the agent',
    agent: 'endless',
    faults: lossOf('running', 'retired'),
    expected: lost('platform', 'platform'),
  },
  {
    name: 'an operator ends a machine under the agent',
    agent: 'endless',
    faults: lossOf('running', 'operator'),
    expected: lost('platform', 'platform'),
  },
  {
    name: 'a machine vanishes under the agent, and nobody knows why',
    agent: 'endless',
    faults: lossOf('running', 'vanished'),
    expected: ended('forfeited', 'agent'),
  },
  {
    name: 'the agent reaches its wall limit',
    agent: 'endless',
    faults: [{ kind: 'wall-limit', seconds: 3 }],
    expected: scored(),
  },
  {
    name: 'the owner cancels',
    agent: 'endless',
    faults: [{ kind: 'cancelled' }],
    expected: ended('not_run', 'caller'),
  },
];

const ENDS: readonly Omit<CloudScenario, 'part'>[] = [
  {
    name: 'a machine hangs in its shutdown',
    agent: 'quick',
    faults: [{ kind: 'slow-terminate', seconds: 7200 }],
    expected: scored(),
    shows: { calls: ['TerminateInstances', 2] },
  },
  {
    name: 'volumes and interfaces outlive their machine',
    agent: 'quick',
    faults: [{ kind: 'leaves-parts' }],
    expected: scored(),
    shows: { calls: ['DeleteVolume', 1] },
  },
  {
    name: 'the answer to a launch is lost',
    agent: 'quick',
    faults: lostAnswers('RunInstances'),
    expected: scored(),
    shows: { calls: ['RunInstances', 3] },
  },
  {
    name: 'the answer to an end is lost',
    agent: 'quick',
    faults: lostAnswers('TerminateInstances'),
    expected: scored(),
    shows: { calls: ['TerminateInstances', 3] },
  },
  {
    name: 'the answer to a command is lost',
    agent: 'quick',
    faults: lostAnswers('SendCommand'),
    expected: scored(),
    shows: { calls: ['SendCommand', 12] },
  },
  {
    name: 'calls are throttled',
    agent: 'quick',
    faults: ['RunInstances', 'DescribeInstances', 'SendCommand', 'ListCommandInvocations', 'TerminateInstances'].map(
      (operation) => ({ kind: 'throttled', operation, times: 2 }) as const,
    ),
    expected: scored(),
    shows: { calls: ['RunInstances', 3] },
  },
  {
    name: 'the timer of the sandbox is alone',
    agent: 'endless',
    faults: [{ kind: 'all-dead-but', alive: 'expire-sandbox' }],
    expected: lost('platform'),
  },
  {
    name: 'the reaper is alone',
    agent: 'endless',
    faults: [{ kind: 'all-dead-but', alive: 'reap-sandboxes' }],
    expected: lost('platform'),
  },
  {
    name: 'the timer in the guest is alone',
    agent: 'endless',
    faults: [{ kind: 'all-dead-but', alive: 'guest timer' }],
    expected: lost('platform'),
  },
];

export const CLOUD_SCENARIOS: readonly CloudScenario[] = [
  ...LAUNCHES.map((scenario) => ({ ...scenario, part: 'launch', agent: 'quick' }) as const),
  ...RUNS.map((scenario) => ({ ...scenario, part: 'run' }) as const),
  ...ENDS.map((scenario) => ({ ...scenario, part: 'end' }) as const),
];
