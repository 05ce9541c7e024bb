import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { createStorageWatch, storageFaultOf } from '#local/storage-watch';

const withCode = (code: string): Error => Object.assign(new Error(`${code}: trouble`), { code });

function portOf(errors: readonly Error[]) {
  const left = [...errors];
  const next = async (): Promise<string> => {
    const error = left.shift();
    if (error !== undefined) throw error;
    return 'done';
  };
  return { write: next, read: next };
}

describe('a watched port', () => {
  it('answers as the port does, and other errors stay what they are', async () => {
    const watch = createStorageWatch();
    const port = watch.watch(portOf([new TypeError('no such row')]), '/runs');
    await expect(port.read()).rejects.toThrow(TypeError);
    expect(await port.read()).toBe('done');
    expect(await port.write()).toBe('done');
  });

  it.each([
    [withCode('ENOSPC'), 'StorageFullError'],
    [withCode('EDQUOT'), 'StorageFullError'],
    [withCode('EROFS'), 'StorageReadOnlyError'],
    [new ExamHallError('StorageFullError', 'no space is left'), 'StorageFullError'],
  ])('tells of a disk that cannot be written: %s', async (error, name) => {
    const watch = createStorageWatch();
    const port = watch.watch(portOf([error]), '/runs');
    await expect(port.read()).rejects.toMatchObject({ name });
    await expect(watch.failed).rejects.toMatchObject({ name });
  });

  it('writes no row after that, though it may still be read', async () => {
    const watch = createStorageWatch();
    const port = watch.watch(portOf([]), '/runs');
    watch.note(withCode('ENOSPC'), '/runs/log');
    expect(() => port.write()).toThrow('/runs/log');
    expect(await port.read()).toBe('done');
  });
});

describe('an error that is no fault of storage', () => {
  it.each([withCode('EACCES'), withCode('ENOENT'), new ExamHallError('StoreUnavailableError', 'locked'), 'ENOSPC'])(
    'is none: %s',
    (error) => {
      expect(storageFaultOf(error, '/runs')).toBeUndefined();
    },
  );
});
