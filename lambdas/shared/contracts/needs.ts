import type { VariableName } from '#contracts/variables';

/**
 * A right the function holds; nothing else is granted. `keyPrefixes` bound object access: `write` reads, adds and
 * replaces; `remove` removes and lists alone; `deposit` adds objects and lists them, and neither reads nor removes what is
 * there.
 */
export type Need =
  | { readonly port: 'unitStore'; readonly access: 'read' | 'write' }
  | {
      readonly port: 'artifacts';
      readonly bucket: 'artifacts' | 'tasks' | 'references';
      readonly access: 'read' | 'write' | 'remove' | 'deposit';
      readonly keyPrefixes: readonly string[];
    }
  /** `offer` knows what could be launched, and asks nobody; `evidence` sees console and screen of a machine of ours. */
  | { readonly port: 'sandboxes'; readonly access: 'launch' | 'describe' | 'release' | 'evidence' | 'offer' }
  | { readonly port: 'channel'; readonly access: 'jobs' | 'call' }
  /**
   * Asks machines that were given by their address, through the function inside the network; where the settings list none, no
   * right comes with it.
   */
  | { readonly port: 'staticMachines' }
  /** Talks to guests itself, inside the network; no right comes with it. */
  | { readonly port: 'guestCalls' }
  | { readonly port: 'timers'; readonly access: 'create' | 'remove' }
  | { readonly port: 'tokens' | 'events' | 'modules' | 'workspace' | 'runTree' | 'policy' }
  | { readonly port: 'executions'; readonly machines: readonly ('sweep' | 'grade')[] };

const BUCKET_VARIABLES = {
  artifacts: 'EXAMHALL_ARTIFACTS_BUCKET',
  tasks: 'EXAMHALL_TASKS_BUCKET',
  references: 'EXAMHALL_REFERENCES_BUCKET',
} as const;
const MACHINE_VARIABLES = { sweep: 'EXAMHALL_SWEEP_MACHINE_ARN', grade: 'EXAMHALL_GRADE_MACHINE_ARN' } as const;
const TIMER_VARIABLES: readonly VariableName[] = [
  'EXAMHALL_SCHEDULE_GROUP',
  'EXAMHALL_EXPIRE_FUNCTION_ARN',
  'EXAMHALL_SCHEDULE_ROLE_ARN',
];
const CHANNEL_VARIABLES: Readonly<Record<'jobs' | 'call', readonly VariableName[]>> = {
  jobs: ['EXAMHALL_SANDBOXES', 'EXAMHALL_ARTIFACTS_BUCKET'],
  call: ['EXAMHALL_SANDBOXES', 'EXAMHALL_CALL_GUEST_FUNCTION_ARN'],
};

/** Who offers sandboxes knows which machines are listed. */
const OFFER_VARIABLES: readonly VariableName[] = ['EXAMHALL_SANDBOXES', 'EXAMHALL_STATIC_HOSTS'];
const STATIC_VARIABLES: readonly VariableName[] = ['EXAMHALL_STATIC_HOSTS', 'EXAMHALL_CALL_GUEST_FUNCTION_ARN'];

/** The variables a function has because of one need. */
function variablesOfNeed(need: Need): readonly VariableName[] {
  if (need.port === 'unitStore') return ['EXAMHALL_TABLE'];
  if (need.port === 'artifacts') return [BUCKET_VARIABLES[need.bucket]];
  if (need.port === 'runTree') return ['EXAMHALL_ARTIFACTS_BUCKET'];
  if (need.port === 'events') return ['EXAMHALL_EVENT_BUS'];
  if (need.port === 'timers') return need.access === 'create' ? TIMER_VARIABLES : ['EXAMHALL_SCHEDULE_GROUP'];
  if (need.port === 'sandboxes') return need.access === 'offer' ? OFFER_VARIABLES : ['EXAMHALL_SANDBOXES'];
  if (need.port === 'staticMachines') return STATIC_VARIABLES;
  if (need.port === 'channel') return CHANNEL_VARIABLES[need.access];
  if (need.port === 'guestCalls') return ['EXAMHALL_STATIC_HOSTS'];
  if (need.port === 'executions') return need.machines.map((machine) => MACHINE_VARIABLES[machine]);
  return need.port === 'policy' ? ['EXAMHALL_POLICY'] : [];
}

/** Names of exactly the variables a function has, in order; the table of its needs is the only source. */
export function variablesOf(needs: readonly Need[]): readonly VariableName[] {
  return [...new Set<VariableName>(['EXAMHALL_CODE_SHA256', ...needs.flatMap(variablesOfNeed)])].sort();
}
