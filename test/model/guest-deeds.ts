import type { JobResult } from '#contracts/guest';
import type { Deed } from './deeds.ts';
import type { Verb } from './guest-replies.ts';

/** How long a machine that reboots does not answer. */
const REBOOT_SECONDS = 45;

/** What an agent can change of its machine. */
export interface Inside {
  /** Processes of the agent that a stop does not end. */
  survivors: number;
  isDiskFull: boolean;
  /** Answers nobody before this time; Infinity for never again. */
  silentUntil: number;
  /** Root answers in the runner's place: with what is not as agreed, with nothing, or with a collect that failed. */
  isGarbled: boolean;
  stalled: Verb | null;
  isCollectForged: boolean;
}

export function untouched(): Inside {
  return {
    survivors: 0,
    isDiskFull: false,
    silentUntil: 0,
    isGarbled: false,
    stalled: null,
    isCollectForged: false,
  };
}

export interface DeedTools {
  readonly inside: Inside;
  readonly now: number;
  /** Which verb root no longer answers. */
  readonly drawVerb: () => Verb;
  /** The job of the agent ends so. */
  readonly end: (parts: Partial<JobResult>) => void;
  readonly shutDown: () => void;
}

type Act = (tools: DeedTools) => void;

const ends =
  (parts: Partial<JobResult>): Act =>
  ({ end }) =>
    end(parts);
const RUNNER_LOST = { end: 'runner-lost', exitCode: null } as const;

/** Changes the inside, then the job ends well. */
const changes =
  (change: (tools: DeedTools) => Partial<Inside>): Act =>
  (tools) => {
    Object.assign(tools.inside, change(tools));
    tools.end({});
  };

export const ACTS: Readonly<Record<Deed, Act>> = {
  finishes: ends({}),
  fails: ends({ exitCode: 1, message: 'Traceback' }),
  runsOut: () => {},
  killsRunner: ends(RUNNER_LOST),
  reboots: ({ inside, now, end }) => {
    inside.silentUntil = now + REBOOT_SECONDS * 1000;
    end(RUNNER_LOST);
  },
  shutsDown: ({ shutDown }) => shutDown(),
  fillsDisk: changes(() => ({ isDiskFull: true })),
  survives: changes(() => ({ survivors: 2 })),
  mutes: changes(() => ({ silentUntil: Infinity })),
  cries: ends({ exitCode: 1, message: 'EC2 Spot Instance Interruption Warning: SandboxLostError 429' }),
  garbles: changes(() => ({ isGarbled: true })),
  stalls: changes(({ drawVerb }) => ({ stalled: drawVerb() })),
  forgesCollect: changes(() => ({ isCollectForged: true })),
  forgesLaunch: ends({ end: 'spawn-failed', exitCode: null, message: 'spawn node EAGAIN' }),
};
