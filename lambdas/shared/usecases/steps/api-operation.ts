import type * as z from 'zod';
import type { Permission } from '#core/policy';

/** A call that has passed every check of its form. */
export interface ApiCall<Q, B> {
  readonly principalArn: string;
  readonly permissions: ReadonlySet<Permission>;
  /** The id in its path; empty when the route has none. */
  readonly id: string;
  readonly query: Q;
  readonly body: B;
  readonly idempotencyKey: string | null;
}

export interface ApiReply {
  readonly body: unknown;
  /** Text that is sent as it is, instead of the body as JSON. */
  readonly csv?: string;
  /** Path of what was made. */
  readonly location?: string;
}

/** What reads a call's parts by their schemas. @throws ApiRefusal with every problem at once. */
export interface CallReader {
  query<Q>(schema: z.ZodType<Q>): Q;
  body<B>(schema: z.ZodType<B>): B;
}

/** How one route is answered. */
export interface Operation<P> {
  readonly query: z.ZodType;
  readonly body: z.ZodType | null;
  readonly answer: (
    reader: CallReader,
    call: Omit<ApiCall<unknown, unknown>, 'query' | 'body'>,
    ports: P,
  ) => Promise<ApiReply>;
}

/** A route without a body. */
export function query<Q, P>(
  schema: z.ZodType<Q>,
  run: (call: ApiCall<Q, null>, ports: P) => Promise<ApiReply>,
): Operation<P> {
  return {
    query: schema,
    body: null,
    answer: async (reader, call, ports) => await run({ ...call, query: reader.query(schema), body: null }, ports),
  };
}

/** A route with a body and no query. */
export function command<Q, B, P>(
  schemas: { readonly query: z.ZodType<Q>; readonly body: z.ZodType<B> },
  run: (call: ApiCall<Q, B>, ports: P) => Promise<ApiReply>,
): Operation<P> {
  return {
    ...schemas,
    answer: async (reader, call, ports) =>
      await run({ ...call, query: reader.query(schemas.query), body: reader.body(schemas.body) }, ports),
  };
}

/** By the route's `operationId`. */
export type Operations<P> = Readonly<Record<string, Operation<P>>>;
