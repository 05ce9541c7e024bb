import { describe, expect, it } from 'vitest';
import { stageDocument } from '#test/builders/stage-settings';
import { loadSettings, parseSettings } from '../../infra/config/load-settings.ts';
import { changed, problemsOf } from './settings-documents.ts';

describe('the sandboxes of a settings file', () => {
  const image = { imageId: 'ami-0123456789abcdef0', os: 'linux', kind: 'prepared', volumeGiB: 40 };
  const withImages = (images: Readonly<Record<string, unknown>>): unknown =>
    changed('default', { sandboxes: { images } });

  it('are public images where a file says nothing of them, as files from before do', () => {
    expect(stageDocument('default')).not.toHaveProperty('sandboxes');
    const { images, machineTypes, staticHosts } = loadSettings({}).sandboxes;
    expect(Object.keys(images)).toEqual(['ale-ubuntu22', 'ale-win-server']);
    for (const { parameter, kind } of Object.values(images))
      expect([parameter?.startsWith('/aws/service/'), kind]).toEqual([true, 'bare']);
    expect([machineTypes, staticHosts]).toEqual([{}, []]);
  });

  it('take an image of your own in the place of a public one, and leave the others', () => {
    const { images } = parseSettings(
      withImages({ 'ale-ubuntu22': image, 'ale-win10': { ...image, os: 'windows' } }),
      'x.json',
    ).sandboxes;
    expect(Object.keys(images)).toEqual(['ale-ubuntu22', 'ale-win-server', 'ale-win10']);
    expect(images['ale-ubuntu22']).toEqual({ ...image, rootDevice: '/dev/sda1', revision: null, seats: null });
  });

  it('take images for GPUs and for licensed software beside the plain ones', () => {
    const { images } = parseSettings(
      withImages({
        'ale-win-server-gpu': { ...image, os: 'windows', gpu: true },
        'ale-win-server-license': { ...image, os: 'windows', seats: 3 },
      }),
      'x.json',
    ).sandboxes;
    expect(images['ale-win-server-gpu']).toMatchObject({ gpu: true, seats: null });
    expect(images['ale-win-server-license']).toMatchObject({ seats: 3 });
    expect(images['ale-win-server']).not.toHaveProperty('gpu');
  });

  it.each([
    ['an unknown family', { 'ale-beos': image }, /must be an image family: ale-ubuntu22/],
    ['another system than the family', { 'ale-win10': image }, /must be windows, as the family/],
    [
      'no image',
      { 'ale-ubuntu22': { ...image, imageId: undefined } },
      /must name its image by parameter or by imageId/,
    ],
    [
      'two images',
      { 'ale-ubuntu22': { ...image, parameter: '/a/b' } },
      /must name its image by parameter or by imageId/,
    ],
    ['what is no image', { 'ale-ubuntu22': { ...image, imageId: 'latest' } }, /must be the id of an image/],
    ['no seats at all', { 'ale-ubuntu22': { ...image, seats: 0 } }, /must be at least 1, or null/],
    ['a tiny volume', { 'ale-ubuntu22': { ...image, volumeGiB: 4 } }, /must be 8 to 16384/],
  ])('may not name %s', (_, images, message) => {
    const problems = problemsOf(withImages(images));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
  });

  it.each([
    '10.1.2.3',
    '8.8.8.8:5000',
    '169.254.169.254:80',
    '127.0.0.1:5000',
    'host:5000',
    '10.1.2.300:5000',
    '10.1.2.3:70000',
    '10.1.2.3:0',
    '10.1.2.3:00',
  ])('may not let functions reach %s', (host) => {
    expect(problemsOf(changed('default', { sandboxes: { staticHosts: [host] } }))).toEqual([
      expect.stringContaining('must be a private IPv4 address and a port'),
    ]);
  });

  it('may let functions reach private addresses', () => {
    expect(
      problemsOf(changed('default', { sandboxes: { staticHosts: ['10.1.2.3:5000', '192.168.0.4:8000'] } })),
    ).toEqual([]);
  });
});
