import { describe, expect, it } from 'vitest';
import { IMAGE_FAMILY_NAMES, imageFamily } from '#core/image-family';

describe('image families', () => {
  it('are found by name, with underscores too', () => {
    expect(imageFamily('ale-kasm')).toMatchObject({
      os: 'linux',
      cuaPort: 8000,
      workRoot: '/home/kasm-user/.ale',
      defaultMachineType: null,
    });
    expect(imageFamily('ale_ubuntu22_docker_v1_1')?.name).toBe('ale-ubuntu22-docker-v1-1');
    expect(imageFamily('ale-win10')).toMatchObject({ os: 'windows', cuaPort: 5000, dataRoot: 'E:\\agenthle' });
    expect(imageFamily('ami-0123')).toBeNull();
  });

  it('run Windows exactly when their name says so, as upstream infers it', () => {
    expect(IMAGE_FAMILY_NAMES).toHaveLength(12);
    for (const name of IMAGE_FAMILY_NAMES)
      expect(imageFamily(name)?.os).toBe(name.includes('win') ? 'windows' : 'linux');
  });

  it('have absolute paths in the style of their system', () => {
    for (const name of IMAGE_FAMILY_NAMES) {
      const family = imageFamily(name);
      const start = family?.os === 'windows' ? /^[A-Z]:\\/ : /^\//;
      for (const path of [family?.workRoot, family?.dataRoot, family?.python, family?.node, family?.mcpServerDir])
        expect(path).toMatch(start);
    }
  });
});
