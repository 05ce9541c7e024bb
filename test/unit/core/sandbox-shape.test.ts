import { describe, expect, it } from 'vitest';
import { shapeOf } from '#core/sandbox-shape';
import { readTaskCard, type TaskCard } from '#core/task-card';

const card = (vm: Readonly<Record<string, unknown>>): TaskCard => readTaskCard({ vm: { snapshot: 's', ...vm } }).card;
const snapshot = { provider: 'aws', image: 'ale-ubuntu22', knobs: {} };

describe('the size of a sandbox', () => {
  it('is what the card names', () => {
    const shape = { machineType: 'n2-standard-8', vCpus: 8, memoryMiB: 32_768, gpus: 0 };
    expect(shapeOf(card({ machineType: 'n2-standard-8' }), snapshot)).toEqual(shape);
  });

  it('is what the card says in numbers, whose name no longer fits then', () => {
    const shape = { machineType: null, vCpus: 6, memoryMiB: 32_768, gpus: 0 };
    expect(shapeOf(card({ machineType: 'n2-standard-8', vcpus: 6 }), snapshot)).toEqual(shape);
  });

  it('is what the family of the image comes with, where machines are made by the name of a size', () => {
    expect(shapeOf(card({}), snapshot)).toEqual({ machineType: 'e2-standard-4', vCpus: 4, memoryMiB: 16_384, gpus: 0 });
    const least = { machineType: null, vCpus: 1, memoryMiB: 1024, gpus: 0 };
    expect(shapeOf(card({}), { ...snapshot, provider: 'process' })).toEqual(least);
    expect(shapeOf(card({}), { ...snapshot, image: 'own' })).toEqual(least);
  });

  it('has a GPU when the card or the environment asks for one', () => {
    expect(shapeOf(card({ machineType: 'g2-standard-24' }), snapshot).gpus).toBe(2);
    const byKnob = shapeOf(card({}), { ...snapshot, knobs: { gpu: 'nvidia-l4' } });
    expect(byKnob).toEqual({ machineType: null, vCpus: 4, memoryMiB: 16_384, gpus: 1 });
    expect(shapeOf(card({}), { ...snapshot, knobs: { gpu: null } }).gpus).toBe(0);
  });
});
