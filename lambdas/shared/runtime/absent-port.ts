import { ExamHallError } from '#core/errors';

/** Stands for a port that a host has not made because nothing declared it; any call of it throws by name. */
export function absentPort<T extends object>(name: string): T {
  return new Proxy({} as T, {
    get: (_, key) => {
      // Whatever is answered from an async function is asked for this.
      if (key === 'then' || typeof key === 'symbol') return undefined;
      return () => {
        const message = `port ${name} is not there (${key} was called); declare it in the function's needs in #contracts/functions`;
        throw new ExamHallError('EnvironmentInvalidError', message, { port: name });
      };
    },
  });
}
