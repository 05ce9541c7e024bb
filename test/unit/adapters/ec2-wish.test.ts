import { expect, it } from 'vitest';
import fc from 'fast-check';
import { chooseFor, refusalFor } from '#adapters/ec2-wish';
import { sandboxSettings } from '#test/builders/sandbox-settings';
import { ec2Spec } from './ec2-kit.ts';

const wishes = fc.record({
  image: fc.constantFrom('ale-ubuntu22', 'ale-win-server', 'ale-kasm'),
  os: fc.constantFrom('linux', 'windows'),
  machineType: fc.constantFrom(null, 'e2-standard-2', 'a2-highgpu-1g'),
  gpu: fc.boolean(),
  network: fc.constantFrom('open', 'sealed'),
  privilege: fc.constantFrom('restricted', 'upstream'),
  knobs: fc.record(
    {
      ami: fc.constantFrom(null, 'ami-0aaaaaaaaaaaaaaaa', 'ami-other'),
      tenancy: fc.constantFrom('default', 'dedicated'),
      zones: fc.constantFrom([], ['us-east-1b'], ['eu-west-1a']),
    },
    { requiredKeys: [] },
  ),
});

function thrownBy(choose: () => unknown): string | null {
  try {
    choose();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

it('what EC2 cannot give is said before a launch word for word as by it', () => {
  const settings = sandboxSettings();
  fc.assert(
    fc.property(wishes, (wish) => {
      const spec = ec2Spec(wish);
      expect(refusalFor(spec, settings)).toBe(thrownBy(() => chooseFor(spec, settings)));
    }),
    { numRuns: 300 },
  );
});

it('zones and networks are only told by who knows those of the deployment, and all else by everybody', () => {
  const places = ec2Spec({ network: 'sealed', knobs: { zones: ['eu-west-1a'] } });
  expect(refusalFor(places, sandboxSettings({ networks: {} }))).toBeNull();
  expect(refusalFor(places, sandboxSettings())).toMatch(/network sealed \(allowed: open\)/u);
  expect(refusalFor(ec2Spec({ knobs: { zones: ['eu-west-1a'] } }), sandboxSettings())).toMatch(
    /zones \["eu-west-1a"\] \(allowed: us-east-1a, us-east-1b\)/u,
  );
  expect(refusalFor(ec2Spec({ knobs: { ami: 'ami-other' } }), sandboxSettings({ networks: {} }))).toMatch(/ami-other/u);
});
