import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import type { ApiCode } from '#core/api-status';

interface GatewayProblem {
  readonly type: ResponseType;
  readonly status: number;
  readonly title: string;
  readonly code: ApiCode;
}

/** What the gateway answers by itself, in the words of the API's own problems. */
const PROBLEMS: readonly GatewayProblem[] = [
  { type: ResponseType.BAD_REQUEST_BODY, status: 400, title: 'The request is malformed', code: 'InvalidRequestError' },
  {
    type: ResponseType.BAD_REQUEST_PARAMETERS,
    status: 400,
    title: 'The request is malformed',
    code: 'InvalidRequestError',
  },
  { type: ResponseType.ACCESS_DENIED, status: 403, title: 'The caller may not do this', code: 'AccessDeniedError' },
  { type: ResponseType.UNAUTHORIZED, status: 401, title: 'The caller is not known', code: 'AccessDeniedError' },
  {
    type: ResponseType.EXPIRED_TOKEN,
    status: 403,
    title: 'The credentials are out of date',
    code: 'AccessDeniedError',
  },
  { type: ResponseType.INVALID_SIGNATURE, status: 403, title: 'The signature does not fit', code: 'AccessDeniedError' },
  {
    type: ResponseType.MISSING_AUTHENTICATION_TOKEN,
    status: 403,
    title: 'The request is not signed, or there is no such route',
    code: 'AccessDeniedError',
  },
  { type: ResponseType.RESOURCE_NOT_FOUND, status: 404, title: 'There is no such route', code: 'NotFoundError' },
  { type: ResponseType.REQUEST_TOO_LARGE, status: 413, title: 'The body is too large', code: 'BodyTooLargeError' },
  {
    type: ResponseType.UNSUPPORTED_MEDIA_TYPE,
    status: 415,
    title: 'The body is not JSON by its content type',
    code: 'UnsupportedMediaTypeError',
  },
  { type: ResponseType.THROTTLED, status: 429, title: 'Too many requests', code: 'TooManyRequestsError' },
  { type: ResponseType.QUOTA_EXCEEDED, status: 429, title: 'Too many requests', code: 'TooManyRequestsError' },
  {
    type: ResponseType.INTEGRATION_FAILURE,
    status: 502,
    title: 'Something went wrong on our side',
    code: 'InternalError',
  },
  { type: ResponseType.INTEGRATION_TIMEOUT, status: 504, title: 'The answer took too long', code: 'InternalError' },
  { type: ResponseType.DEFAULT_4XX, status: 400, title: 'The request is malformed', code: 'InvalidRequestError' },
  { type: ResponseType.DEFAULT_5XX, status: 500, title: 'Something went wrong on our side', code: 'InternalError' },
];

/** The defaults stand for errors of several statuses; their own stays. */
const isDefault = ({ type }: GatewayProblem): boolean =>
  type === ResponseType.DEFAULT_4XX || type === ResponseType.DEFAULT_5XX;

/** Makes every answer of the gateway itself a problem as RFC 9457 has it, with nothing of our insides in it. */
export function addProblemResponses(api: RestApi): void {
  for (const problem of PROBLEMS) {
    api.addGatewayResponse(problem.type.responseType, {
      type: problem.type,
      ...(isDefault(problem) ? {} : { statusCode: String(problem.status) }),
      responseHeaders: { 'Content-Type': "'application/problem+json'" },
      templates: { 'application/json': template(problem) },
    });
  }
}

/** `messageString` comes with its quotes. */
function template({ status, title, code }: GatewayProblem): string {
  const fields = [
    `"type":"urn:examhall:problem:${code}"`,
    `"title":${JSON.stringify(title)}`,
    `"status":${String(status)}`,
    `"detail":$context.error.messageString`,
    `"instance":"$context.requestId"`,
    `"code":${JSON.stringify(code)}`,
    `"problems":[]`,
  ];
  return `{${fields.join(',')}}`;
}
