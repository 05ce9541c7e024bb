/** A call before it carries proof of who makes it. */
export interface UnsignedCall {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Proves to a host who calls. */
export interface Authorizer {
  readonly kind: 'aws' | 'token';
  readonly region: string | null;
  /** The headers of the call with the proof among them. */
  readonly authorize: (call: UnsignedCall) => Promise<Readonly<Record<string, string>>>;
  /** Signs by the host's time from now on. Returns the difference in milliseconds. */
  readonly correctClock: (serverTime: number) => number;
}

/** The bearer token of `examhall serve`. */
export function tokenAuthorizer(token: string): Authorizer {
  return {
    kind: 'token',
    region: null,
    authorize: ({ headers }) => Promise.resolve({ ...headers, authorization: `Bearer ${token}` }),
    correctClock: () => 0,
  };
}
