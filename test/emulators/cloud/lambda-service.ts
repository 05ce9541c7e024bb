import { ServiceError } from './service-error.ts';

/** A function of the account: JSON in, JSON out. */
export type CloudFunction = (payload: unknown) => Promise<unknown>;

export interface InvocationAnswer {
  readonly body: string;
  /** True when the function itself threw, which is no error of the service. */
  readonly hasFailed: boolean;
}

/** The name in the path of an `Invoke`; undefined for any other path. */
export function functionOf(path: string): string | undefined {
  const name = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/u.exec(path)?.[1];
  return name === undefined ? undefined : decodeURIComponent(name);
}

/** Invokes a function and waits for its answer. @throws ServiceError for one that is not there. */
export async function invokeFunction(call: CloudFunction | undefined, body: string): Promise<InvocationAnswer> {
  if (call === undefined) throw new ServiceError('ResourceNotFoundException', 'Function not found', 404);
  try {
    return { body: JSON.stringify((await call(JSON.parse(body))) ?? null), hasFailed: false };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return { body: JSON.stringify({ errorType: name, errorMessage: message }), hasFailed: true };
  }
}
