import type { Tag } from '@aws-sdk/client-ec2';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { SandboxProvider, SandboxState, SandboxSummary } from '#ports/sandbox-provider';
import type { Ec2Lookup, Page } from './ec2-lookup.ts';
import { stageFilter, tagged } from './ec2-tags.ts';

/** What a cursor names first: machines are listed first, then what is left of machines that are gone. */
const KINDS = ['machine', 'volume', 'interface'] as const;
type Kind = (typeof KINDS)[number];

/** Until it is terminated a machine costs and counts: one that hangs while it ends is shown too. */
const ALIVE = ['pending', 'running', 'stopping', 'stopped', 'shutting-down'];
const STATES: Readonly<Record<string, SandboxState['state']>> = { pending: 'pending', running: 'ready' };

/** A page of everything with our stage's tag, as EC2 has it; nothing is taken from memory. */
export async function listSandboxes(
  lookup: Ec2Lookup,
  settings: SandboxSettings,
  cursor: string | undefined,
): ReturnType<SandboxProvider['list']> {
  const { kind, token } = placeOf(cursor);
  const { items, next } = await PAGES[kind](lookup, settings, token);
  const following = KINDS[KINDS.indexOf(kind) + 1];
  if (next !== undefined && next !== '') return { sandboxes: items, cursor: `${kind}:${next}` };
  return following === undefined ? { sandboxes: items } : { sandboxes: items, cursor: `${following}:` };
}

function placeOf(cursor: string | undefined): { readonly kind: Kind; readonly token: string | undefined } {
  const [name = '', ...rest] = (cursor ?? '').split(':');
  const token = rest.join(':');
  return { kind: KINDS.find((kind) => kind === name) ?? 'machine', token: token === '' ? undefined : token };
}

type PageOf = (
  lookup: Ec2Lookup,
  settings: SandboxSettings,
  token: string | undefined,
) => Promise<Page<SandboxSummary>>;

const PAGES: Readonly<Record<Kind, PageOf>> = {
  machine: async (lookup, settings, token) => {
    const state = { Name: 'instance-state-name', Values: ALIVE };
    const { items, next } = await lookup.instancePage([stageFilter(settings), state], token);
    const shown = items.map(({ InstanceId, State, Tags }) => {
      return summary(InstanceId, Tags, STATES[State?.Name ?? ''] ?? 'stopped');
    });
    return { items: shown, next };
  },
  volume: async (lookup, settings, token) => {
    const { items, next } = await lookup.volumePage([stageFilter(settings), LOOSE], token);
    return { items: items.map(({ VolumeId, Tags }) => summary(VolumeId, Tags, 'stopped')), next };
  },
  interface: async (lookup, settings, token) => {
    const { items, next } = await lookup.interfacePage([stageFilter(settings), LOOSE], token);
    return {
      items: items.map(({ NetworkInterfaceId, TagSet }) => summary(NetworkInterfaceId, TagSet, 'stopped')),
      next,
    };
  },
};

/** With no machine any more. */
const LOOSE = { Name: 'status', Values: ['available'] };

function summary(
  sandboxId: string | undefined,
  tags: readonly Tag[] | undefined,
  state: SandboxState['state'],
): SandboxSummary {
  return { sandboxId: sandboxId ?? '', ...tagged(tags), state };
}
