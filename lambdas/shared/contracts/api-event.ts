import * as z from 'zod';

const texts = z.record(z.string(), z.string().nullish()).nullish();
const lists = z.record(z.string(), z.array(z.string()).nullish()).nullish();

/** A call as a REST API of API Gateway hands it to a function (proxy integration); keys that nothing reads are allowed. */
export const ApiEventSchema = z.object({
  httpMethod: z.string(),
  /** Path of the route, with `{name}` for its parameters. */
  resource: z.string(),
  pathParameters: texts,
  multiValueQueryStringParameters: lists,
  headers: texts,
  multiValueHeaders: lists,
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
  requestContext: z.object({
    requestId: z.string().nullish(),
    identity: z.object({ userArn: z.string().nullish() }).nullish(),
  }),
});
export type ApiEvent = z.infer<typeof ApiEventSchema>;

/** Whatever comes: the API answers what is wrong with it, also when it is no call at all. */
export const AnyEventSchema = z.unknown();

/** What the function answers. */
export interface ApiAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
