import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ec2MachineTypes, ec2VCpus, type MachineWish } from '#core/ec2-machine-types';
import { MACHINE_FAMILIES, parseMachineType } from '#core/machine-type';

function wishOf(name: string): MachineWish {
  const type = parseMachineType(name);
  if (type === null) throw new Error(`${name} is no machine type`);
  return { machineType: name, vCpus: type.vCpus, memoryMiB: type.memoryMiB, gpus: type.gpus };
}
const typesOf = (name: string): readonly string[] => ec2MachineTypes(wishOf(name), {});

describe('EC2 types for what a card asks', () => {
  it.each([
    ['e2-standard-2', ['m7i.large', 'm6i.large', 'm5.large']],
    ['n2-standard-4', ['m7i.xlarge', 'm6i.xlarge', 'm5.xlarge']],
    ['c4-standard-8', ['m7i.2xlarge', 'm6i.2xlarge', 'm5.2xlarge']],
    ['n1-standard-1', ['m7i.large', 'm6i.large', 'm5.large']],
    ['e2-highcpu-16', ['c7i.4xlarge', 'c6i.4xlarge']],
    ['c4-highmem-4', ['r7i.xlarge', 'r6i.xlarge', 'r5.xlarge']],
    ['n2-custom-2-16384', ['r7i.large', 'r6i.large', 'r5.large']],
    ['m1-ultramem-4', ['r7i.4xlarge', 'r6i.4xlarge', 'r5.4xlarge']],
    ['g2-standard-8', ['g6.2xlarge']],
    ['g2-standard-48', ['g6.12xlarge']],
    ['a2-highgpu-1g', []],
  ])('%s is %j', (name, types) => {
    expect(typesOf(name)).toEqual(types);
  });

  it('are never smaller than asked, within a tenth of memory, and all of one size', () => {
    const names = fc
      .tuple(
        fc.constantFrom(...MACHINE_FAMILIES.filter((family) => !family.startsWith('a2-'))),
        fc.integer({ min: 1, max: 32 }),
      )
      .map(([family, vCpus]) => `${family}-${String(vCpus)}`);
    fc.assert(
      fc.property(names, (name) => {
        const wish = wishOf(name);
        const types = ec2MachineTypes(wish, {});
        const sizes = new Set(types.map((type) => type.split('.')[1]));
        expect(sizes.size).toBeLessThanOrEqual(1);
        for (const type of types) expect(ec2VCpus(type)).toBeGreaterThanOrEqual(wish.vCpus);
        if (wish.gpus === 0 && wish.memoryMiB < 256 * 1024) expect(types.length).toBeGreaterThan(0);
      }),
    );
  });

  it('are those of the settings where they name any, by the name first', () => {
    const overrides = { 'n2-standard-4': ['m7a.xlarge'], 4: ['t3.xlarge'], 'a2-highgpu-1g': ['p4d.24xlarge'] };
    expect(ec2MachineTypes(wishOf('n2-standard-4'), overrides)).toEqual(['m7a.xlarge']);
    expect(ec2MachineTypes(wishOf('e2-standard-4'), overrides)).toEqual(['t3.xlarge']);
    expect(ec2MachineTypes(wishOf('g2-standard-4'), overrides)).toEqual(['g6.xlarge']);
    expect(ec2MachineTypes(wishOf('a2-highgpu-1g'), overrides)).toEqual(['p4d.24xlarge']);
    const constructed = { ...wishOf('e2-standard-4'), machineType: 'constructor' };
    expect(ec2MachineTypes(constructed, {})).toEqual(typesOf('e2-standard-4'));
  });

  it('is the one that was named, when the name is one of EC2', () => {
    expect(ec2MachineTypes({ machineType: 'c7a.2xlarge', vCpus: 1, memoryMiB: 1024, gpus: 0 }, {})).toEqual([
      'c7a.2xlarge',
    ]);
  });

  it('count for the quota by their size', () => {
    expect(['m7i.large', 'm7i.xlarge', 'g6.48xlarge', 'm7i.metal', 't3.medium'].map(ec2VCpus)).toEqual([
      2,
      4,
      192,
      null,
      2,
    ]);
  });
});
