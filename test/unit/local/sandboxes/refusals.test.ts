import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { RealClock } from '#local/clock';
import { createDesktopProvider } from '#local/sandboxes/desktop-provider';
import { localRefusal, providersOf } from '#local/local-providers';
import type { SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';
import { API_POLICY, publishBoth, refusal, startBody, call } from '#test/builders/api-call';
import { World } from '#test/builders/world';
import { sandboxSpec } from '#test/fakes/sandbox';
import { ProcessKit } from './process-kit.ts';

let kit: ProcessKit;
let desktop: SandboxProvider;

/** Nothing of a desktop is started by what it refuses. */
const NOT_STARTED = { folder: '/none', python: '/none', pythonFolder: null, browser: null };

beforeAll(async () => {
  kit = await ProcessKit.open({ withoutWalls: 'asked for by the test' });
  const installation = { ...NOT_STARTED, server: 'none', lockSha256: 'none', pythonVersion: 'none' };
  const root = path.join(kit.root, 'desktops');
  desktop = createDesktopProvider({
    root,
    found: { isThere: true, installation },
    bridge: null,
    guestRunner: '/none',
    clock: new RealClock(),
  });
});
afterAll(() => kit.remove());

const wishes = fc.record({
  os: fc.constantFrom('linux', 'windows'),
  gpu: fc.boolean(),
  network: fc.constantFrom('open', 'sealed'),
  privilege: fc.constantFrom('restricted', 'upstream'),
  resolution: fc.constantFrom(null, '1024x768', '20000x20000', '100x100', 'large'),
  knobs: fc.constantFrom({}, { dpi: 96 }),
});

function refusedAtLaunch(provider: SandboxProvider, spec: SandboxSpec): Promise<string | null> {
  return provider.acquire(spec).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

describe('what a provider of this computer cannot give', () => {
  it.each(['process', 'desktop'])(
    'is said of %s before anything starts, word for word as a launch would',
    async (name) => {
      const provider = name === 'process' ? kit.provider : desktop;
      await fc.assert(
        fc.asyncProperty(wishes, async (wish) => {
          const spec = sandboxSpec({ ...wish, provider: name });
          const told = provider.refusal?.(spec) ?? null;
          expect(localRefusal(name, spec)).toBe(told);
          if (told !== null) expect(await refusedAtLaunch(provider, spec)).toBe(told);
        }),
        { numRuns: 60 },
      );
      expect(existsSync(path.join(kit.root, 'desktops'))).toBe(false);
      expect((await kit.provider.list()).sandboxes).toEqual([]);
    },
  );

  it('is nothing for a plain wish, and for a provider that only its machine tells of', () => {
    expect(kit.provider.refusal?.(sandboxSpec())).toBeNull();
    expect(localRefusal('desktop', sandboxSpec())).toBeNull();
    expect(localRefusal('static', sandboxSpec({ os: 'windows' }))).toBeNull();
  });

  it('is a desktop at all where desktops are not set up', () => {
    const bare = createDesktopProvider({
      root: path.join(kit.root, 'desktops'),
      found: { isThere: false, reason: 'nothing is installed' },
      bridge: null,
      guestRunner: '/none',
      clock: new RealClock(),
    });
    expect(bare.refusal?.(sandboxSpec({ provider: 'desktop' }))).toContain('(nothing is installed); run: examhall');
  });

  it.each([
    { what: 'sudo', body: { privilege: 'upstream' }, says: /privilege upstream \(allowed: restricted/u },
    { what: 'Windows', route: { image: 'ale-win10', os: 'windows' }, says: /os windows \(allowed: linux\)/u },
    { what: 'a GPU', card: { vm: { machineType: 'g2-standard-8' } }, says: /a GPU/u },
  ])('is refused (422) by the API at the task, also in a dry run: $what', async ({ body, card, route, says }) => {
    const world = new World({ policy: API_POLICY });
    Object.defineProperty(world, 'ports', { value: { ...world.ports, providers: providersOf([kit.provider]) } });
    await publishBoth(world, card);
    const plain = { provider: 'process', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} };
    for (const dryRun of [true, false]) {
      const asked = startBody({ snapshots: { '*': { ...plain, ...route } }, dryRun, ...body });
      const { status, problems } = await refusal(world, 'startSweep', { body: asked });
      expect([status, problems]).toEqual([
        422,
        [{ path: 'body.tasks[0].path', message: expect.stringMatching(says) as unknown }],
      ]);
    }
    expect(await world.keysIn('sweeps')).toEqual([]);
  });

  it('does not keep a plain request from starting', async () => {
    const world = new World({ policy: API_POLICY });
    Object.defineProperty(world, 'ports', { value: { ...world.ports, providers: providersOf([kit.provider]) } });
    await publishBoth(world);
    const plain = { provider: 'process', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} };
    const started = await call(world, 'startSweep', { body: startBody({ snapshots: { '*': plain }, dryRun: true }) });
    expect(started).toMatchObject({ plannedUnits: 2 });
  });
});
