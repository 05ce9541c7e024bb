import { describe, expect, it } from 'vitest';
import { createUnavailableChannels, createUnavailableProviders } from '#adapters/unavailable-sandboxes';

const refused = (what: RegExp) =>
  expect.objectContaining({ name: 'SandboxRefusedError', message: expect.stringMatching(what) as string }) as Error;

describe('a deployment without sandboxes', () => {
  it.each([
    ['aws', /provider aws is not among what this function declares/u],
    ['static', /provider static is not among what this function declares/u],
    ['gcloud', /provider gcloud comes with other clouds/u],
    ['process', /provider process works only on one computer/u],
    ['desktop', /provider desktop works only on one computer/u],
  ])('refuses %s by name', (provider, what) => {
    expect(() => createUnavailableProviders().get(provider)).toThrow(refused(what));
    expect(() => createUnavailableChannels().for({ provider, channel: 'ssm' })).toThrow(refused(what));
  });

  it('has none to list', () => {
    expect(createUnavailableProviders().all()).toEqual([]);
  });
});
