import { describe, expect, it } from 'vitest';
import { joinGuestPath, unitPaths } from '#core/guest-paths';

const unit = { taskPath: 'domain/task', variantName: 'base', agentName: 'codex', runName: 'run_1' };

describe('paths in a guest', () => {
  it('are joined in the style of its system', () => {
    expect(joinGuestPath('linux', '/data/', 'a/b', 'c')).toBe('/data/a/b/c');
    expect(joinGuestPath('windows', 'C:\\data\\', 'a/b', 'c')).toBe('C:\\data\\a\\b\\c');
    expect(joinGuestPath('windows', 'E:/data/', 'a')).toBe('E:/data\\a');
    expect(joinGuestPath('linux', '/data')).toBe('/data');
  });

  it('lie where the contract with tasks puts them', () => {
    expect(unitPaths('linux', { dataRoot: '/media/data', workRoot: '/home/user/.ale' }, unit)).toEqual({
      root: '/media/data/domain/task/base',
      input: '/media/data/domain/task/base/input',
      software: '/media/data/domain/task/base/software',
      output: '/media/data/domain/task/base/output',
      work: '/home/user/.ale/codex/run_1',
    });
    expect(unitPaths('windows', { dataRoot: 'E:\\agenthle', workRoot: 'C:\\ale' }, unit)).toMatchObject({
      input: 'E:\\agenthle\\domain\\task\\base\\input',
      work: 'C:\\ale\\codex\\run_1',
    });
  });
});
