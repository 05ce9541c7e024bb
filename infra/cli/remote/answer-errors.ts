import type { ApiRoute } from '#contracts/api-routes';
import { ProblemSchema, type Problem } from '#contracts/api-schemas';
import { ROLE_PERMISSIONS, ROLES, type Permission } from '#core/policy';
import type { HttpAnswer } from './http-exchange.ts';
import { plainText } from './plain-text.ts';
import { RemoteError, type RemoteErrorKind } from './remote-error.ts';

/** What of a call an error message may need. */
export interface AnsweredCall {
  readonly route: Pick<ApiRoute, 'method' | 'path' | 'permission' | 'summary'>;
  readonly host: string;
  readonly kind: 'aws' | 'token';
  readonly region: string | null;
}

/** A refusal by the API itself, with each thing that is wrong with the request. */
export class ApiProblemError extends RemoteError {
  readonly problem: Problem;

  constructor(problem: Problem, message: string, facts: ConstructorParameters<typeof RemoteError>[2]) {
    super(problem.status === 401 || problem.status === 403 ? 'access' : kindOf(problem.status), message, facts);
    this.problem = problem;
  }
}

/** The error that an answer of 300 or more stands for. */
export function errorOfAnswer(call: AnsweredCall, answer: HttpAnswer): RemoteError {
  const retryAfterSeconds = retryAfterOf(answer.headers['retry-after']);
  const facts = { status: answer.status, ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }) };
  if (answer.status < 400) {
    const to = plainText(answer.headers['location'] ?? 'nowhere', 200);
    return new RemoteError(
      'host',
      `${call.host} answered ${String(answer.status)}, a redirect to ${to}, which is not followed; give the address of the API itself`,
      facts,
    );
  }
  const body = jsonOf(answer.text);
  const parsed = ProblemSchema.safeParse(body);
  if (parsed.success) return problemError(call, parsed.data, facts);
  return gatewayError(call, { answer, message: messageIn(body), facts });
}

function problemError(
  call: AnsweredCall,
  problem: Problem,
  facts: ConstructorParameters<typeof RemoteError>[2],
): RemoteError {
  const lines = problem.problems.map(
    ({ path, message }) => `  ${path === '' ? '' : `${plainText(path)}: `}${plainText(message)}`,
  );
  const head = `${plainText(problem.title)}: ${plainText(problem.detail)} (${String(problem.status)} ${plainText(problem.code)}, request ${plainText(problem.instance)})`;
  const isRefusal = problem.status === 401 || problem.status === 403;
  const said = `${problem.title} ${problem.detail}`;
  const hint = isRefusal
    ? [call.kind === 'aws' ? sentence(accessAdvice(call, said)) : tokenHint(call, problem.status)]
    : [];
  return new ApiProblemError(problem, [head, ...lines, ...hint].join('\n'), { ...facts, code: problem.code });
}

/** Which roles could have done it. */
export function rolesHint({ route }: Pick<AnsweredCall, 'route'>): string {
  const roles = ROLES.filter((role) => ROLE_PERMISSIONS[role].includes(route.permission));
  return `"${route.summary}" needs one of the roles ${roles.join(', ')} (${permissionText(route.permission)}); the stage's settings say which principals have them. \`examhall deploy-check\` shows who you are.`;
}

function permissionText(permission: Permission): string {
  return `permission ${permission}`;
}

function tokenHint(call: AnsweredCall, status: number): string {
  return status === 403
    ? rolesHint(call)
    : 'Give the token that `examhall serve` printed, as EXAMHALL_TOKEN or in a file by --token-file.';
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

interface GatewayAnswer {
  readonly answer: HttpAnswer;
  readonly message: string;
  readonly facts: { readonly status: number; readonly retryAfterSeconds?: number };
}

/** Answers that API Gateway gives before our function is asked; it has no other schema than `message`. */
function gatewayError(call: AnsweredCall, { answer, message, facts: base }: GatewayAnswer): RemoteError {
  const { status } = answer;
  const code = plainText((answer.headers['x-amzn-errortype'] ?? '').split(':')[0] ?? '', 80);
  const facts = { ...base, code };
  const said = message === '' ? `${String(status)} and no message` : `${String(status)} ${plainText(message, 400)}`;
  if (status === 429 || code === 'ThrottlingException' || code === 'LimitExceededException') {
    return new RemoteError(
      'throttled',
      `${call.host} has too many requests at once (${said}); wait a little and run this again`,
      facts,
    );
  }
  const advice = status === 401 || status === 403 ? accessAdvice(call, `${code} ${message}`) : null;
  if (advice !== null) return new RemoteError('access', `${call.host} refused the call: ${said}; ${advice}`, facts);
  if (status === 413) return new RemoteError('request', `${call.host}: the request is too large (${said})`, facts);
  if (status >= 500)
    return new RemoteError(
      'host',
      `${call.host} could not answer: ${said}; try again, and look at the logs of the stage if it lasts`,
      facts,
    );
  return new RemoteError(
    'request',
    `${call.host} does not take ${call.route.method} ${call.route.path}: ${said}; is this the address of the API, and of this version?`,
    facts,
  );
}

function accessAdvice(call: AnsweredCall, text: string): string {
  if (isClockSkew(text)) return 'the clock of this computer is wrong; set it (for example `timedatectl set-ntp true`)';
  if (/expired/iu.test(text)) return 'the AWS credentials have expired; renew them (`aws sso login`)';
  if (/valid region|should be scoped/iu.test(text))
    return `signed for region ${call.region ?? 'unknown'}, which is not the API's; give --region`;
  if (/UnrecognizedClient|security token included in the request is invalid/iu.test(text))
    return 'AWS does not know these credentials; check AWS_PROFILE, --profile and AWS_ACCESS_KEY_ID';
  if (/signature/iu.test(text))
    return `the signature does not fit: the secret key is wrong, a proxy changes requests, or --region (${call.region ?? 'unknown'}) is not the API's`;
  if (/not authorized to perform/iu.test(text))
    return `IAM must allow execute-api:Invoke on this API for you. ${rolesHint(call)}`;
  if (/missing authentication token/iu.test(text))
    return 'API Gateway says so of addresses it does not have too; check --host, with its stage path';
  return rolesHint(call);
}

/** True where a host refuses a signature for its time. */
export function isClockSkew(text: string): boolean {
  return /signature (?:expired|not yet current)|RequestTimeTooSkewed|RequestExpired/iu.test(text);
}

function kindOf(status: number): RemoteErrorKind {
  if (status === 429) return 'throttled';
  return status >= 500 ? 'host' : 'request';
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function messageIn(body: unknown): string {
  if (typeof body !== 'object' || body === null) return '';
  const [found] = Object.entries(body).filter(([key, value]) => /^message$/iu.test(key) && typeof value === 'string');
  return found === undefined ? '' : String(found[1]);
}

/** Seconds of a Retry-After header; dates and nonsense are passed over. */
function retryAfterOf(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,5}$/u.test(value) ? Number(value) : null;
}
