import path from 'node:path';
import type { CuaClient } from '#adapters/cua-client';
import type { Need } from '#contracts/needs';
import { ExamHallError } from '#core/errors';
import type { Channel } from '#ports/channel';
import type { Clock } from '#ports/clock';
import type { GuestCalls } from '#ports/guest-calls';
import type { SandboxProvider } from '#ports/sandbox-provider';
import type { UnitStore } from '#ports/unit-store';

export interface StaticPorts {
  readonly unitStore: UnitStore;
  readonly clock: Clock;
  /** `address:port` of every machine that may be reached. */
  readonly hosts: readonly string[];
  /** What passes calls on to them; null for a function that declares no calls to them. */
  readonly guestCalls: GuestCalls | null;
  /** Where the function's own files lie; the bundler puts the guest's programs beside a function that launches. */
  readonly folder: string;
}

const RUNNER = 'runner.mjs';
const BRIDGE = 'cua-desktop.mjs';
/** Each look is several calls of a function. */
const FIRST_LINE_POLL_MILLISECONDS = 2_000;

/** The provider of machines that were given by address, as functions know them: by rows, and through the one that calls guests. */
export async function staticProvider(ports: StaticPorts, needs: readonly Need[]): Promise<SandboxProvider> {
  const { createStaticProvider } = await import('#adapters/static-provider');
  const { createStaticRows } = await import('#adapters/static-rows');
  const launches = needs.some((need) => need.port === 'sandboxes' && need.access === 'launch');
  const beside = (name: string): string => path.join(ports.folder, name);
  return createStaticProvider({
    attachments: createStaticRows(ports),
    files: async () => {
      if (!launches) throw undeclared('attaches machines', 'sandboxes (launch)');
      return await Promise.resolve({ guestRunner: beside(RUNNER), bridge: beside(BRIDGE) });
    },
    connect: await connector(ports),
    listed: ports.hosts,
  });
}

/** The channel that drives them: what lives no longer than a call leaves transfers to the machine, and ends to who looks. */
export async function staticChannel(ports: StaticPorts): Promise<Channel> {
  const { CuaJobs } = await import('#adapters/cua-channel-jobs');
  return new CuaJobs({ connect: await connector(ports), pollMilliseconds: FIRST_LINE_POLL_MILLISECONDS });
}

async function connector({ hosts, guestCalls }: StaticPorts): Promise<(endpoint: string) => CuaClient> {
  const { createPassedOnClient } = await import('#adapters/cua-passed-on');
  const { onlyListed } = await import('#adapters/cua-listed');
  if (guestCalls === null)
    return () => {
      throw undeclared('asks a given machine', 'staticMachines');
    };
  const listed = onlyListed(guestCalls, hosts);
  return (endpoint) => createPassedOnClient(listed, endpoint);
}

function undeclared(what: string, need: string): ExamHallError {
  const message = `a function ${what}, which it does not declare; add ${need} to its needs in #contracts/functions`;
  return new ExamHallError('EnvironmentInvalidError', message);
}
