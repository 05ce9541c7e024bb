import { isErrorNamed, type ExamHallError } from '#core/errors';
import { storageError } from '#core/storage-error';

const OUR_DISK = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);

/** Sees to it that a disk of ours which is full or read-only ends the run, and nobody is blamed for it. */
export interface StorageWatch {
  /** Rejects with the first fault; never resolves. */
  readonly failed: Promise<never>;
  /** The same port; its faults are noted, and after the first one it writes no row: that would judge attempts by our fault. */
  watch<Port extends object>(port: Port, path: string): Port;
  /** Notes an error that is a fault of storage. Others are left alone. */
  note(error: unknown, path: string): void;
}

export function createStorageWatch(): StorageWatch {
  const seen: { fault?: ExamHallError } = {};
  let fail: (fault: ExamHallError) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  // Whoever waits for it is told; when nobody does, the error reaches its caller all the same.
  failed.catch(() => undefined);

  /** The error as its caller is to see it. */
  const noted = (error: unknown, path: string): unknown => {
    const fault = storageFaultOf(error, path);
    if (fault === undefined) return error;
    seen.fault ??= fault;
    fail(seen.fault);
    return fault;
  };

  return {
    failed,
    note: (error, path) => void noted(error, path),
    watch: (port, path) =>
      new Proxy(port, {
        get: (target, key) => {
          const member: unknown = Reflect.get(target, key, target);
          if (typeof member !== 'function') return member;
          return (...args: readonly unknown[]): unknown => {
            if (key === 'write' && seen.fault !== undefined) throw seen.fault;
            return watched(
              () => Reflect.apply(member, target, args) as unknown,
              (error) => noted(error, path),
            );
          };
        },
      }),
  };
}

function watched(call: () => unknown, noted: (error: unknown) => unknown): unknown {
  try {
    const result = call();
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw noted(error);
    });
  } catch (error) {
    throw noted(error);
  }
}

/** What a full or read-only disk made of an error; undefined for every other error. */
export function storageFaultOf(error: unknown, path: string): ExamHallError | undefined {
  const isNamed = isErrorNamed(error, 'StorageFullError') || isErrorNamed(error, 'StorageReadOnlyError');
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return isNamed || OUR_DISK.has(code) ? storageError(error, path) : undefined;
}
