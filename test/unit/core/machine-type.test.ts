import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MACHINE_FAMILIES, parseMachineType } from '#core/machine-type';

describe('a machine type', () => {
  it.each([
    ['c4-standard-4', 'c4-standard', 4, 15 * 1024, 0],
    ['c4-standard-16', 'c4-standard', 16, 60 * 1024, 0],
    [' C4-Standard-8 ', 'c4-standard', 8, 30 * 1024, 0],
    ['n2-highmem-16', 'n2-highmem', 16, 128 * 1024, 0],
    ['n1-highcpu-2', 'n1-highcpu', 2, 1843, 0],
    ['n2-custom-8-16384', 'n2-custom', 8, 16384, 0],
    ['g2-standard-8', 'g2-standard', 8, 32 * 1024, 1],
    ['g2-standard-96', 'g2-standard', 96, 384 * 1024, 8],
    ['a2-highgpu-2g', 'a2-highgpu', 24, 170 * 1024, 2],
    ['a2-megagpu-16g', 'a2-megagpu', 96, 1360 * 1024, 16],
  ])('%s has its size', (text, ...size) => {
    const [family, vCpus, memoryMiB, gpus] = size;
    expect(parseMachineType(text)).toEqual({ name: text.trim().toLowerCase(), family, vCpus, memoryMiB, gpus });
  });

  it.each([
    '',
    'c4',
    'c4-standard',
    'c4-standard-',
    'c4-standard-x',
    'c4-standard-0',
    'z9-standard-4',
    'm6i.xlarge',
    'c4-standard-4g',
    'n2-custom-8',
    'n2-custom-0-1024',
    'a2-highgpu-8',
    '__proto__-4',
    'x-constructor-4',
    '4-standard-4',
    'c4-standard-99999999999999999999',
  ])('%j is none', (text) => {
    expect(parseMachineType(text)).toBeNull();
  });

  it('of every family grows in proportion', () => {
    expect(MACHINE_FAMILIES.length).toBeGreaterThan(30);
    fc.assert(
      fc.property(fc.constantFrom(...MACHINE_FAMILIES), fc.integer({ min: 1, max: 64 }), (family, size) => {
        const [one, twice] = [size, size * 2].map(
          (n) => parseMachineType(`${family}-${n}`) ?? parseMachineType(`${family}-${n}g`),
        );
        expect(twice?.vCpus).toBe((one?.vCpus ?? 0) * 2);
        expect(Math.abs((twice?.memoryMiB ?? 0) - (one?.memoryMiB ?? 0) * 2)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
