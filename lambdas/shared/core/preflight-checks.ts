import { ANY_PRIVILEGE, asAgent, ifRestricted, type PreflightCheck } from './preflight-check.ts';
import { AFTERWARDS, MACHINE_CHECKS } from './preflight-machine-checks.ts';

export const METADATA = 'http://169.254.169.254';
const SANDBOX_PORTS: readonly number[] = [22, 3389, 5000, 5985, 8000];

const DENIED = 'the store answers 401 or 403';

/** Also root inside has no credentials that do anything but exchange messages with SSM. */
const asRole = (
  id: string,
  tries: string,
  service: string,
  rest: { readonly path?: string; readonly target?: string; readonly body?: string },
): PreflightCheck => ({
  id,
  tries: `${tries}, with the credentials of the machine's role`,
  refusedWhen: 'AWS answers that the role may not, or the machine has no role',
  from: 'root',
  privileges: ANY_PRIVILEGE,
  way: { kind: 'role', service, path: '/', target: '', body: '', ...rest },
});

const STORE: readonly PreflightCheck[] = [
  asAgent('read-other-attempt', 'reads an object of another attempt', DENIED, {
    kind: 'http',
    method: 'GET',
    url: '{endpoint:s3}/{artifacts}/{otherAttemptKey}',
    silence: 'unknown',
  }),
  asAgent('write-other-attempt', 'writes an object of another attempt', DENIED, {
    kind: 'http',
    method: 'PUT',
    url: '{endpoint:s3}/{artifacts}/{otherAttemptKey}',
    body: 'forged',
    silence: 'unknown',
  }),
  asAgent('list-references', 'lists the bucket of references', DENIED, {
    kind: 'http',
    method: 'GET',
    url: '{endpoint:s3}/{references}?list-type=2',
    silence: 'unknown',
  }),
  asAgent('changed-link', 'uses a link of its own for the object of another', DENIED, {
    kind: 'http',
    method: 'GET',
    url: '{changedLink}',
    silence: 'unknown',
  }),
];

const NETWORK: readonly PreflightCheck[] = [
  ifRestricted(
    asAgent('metadata-token', 'asks the metadata address for a session', 'no connection comes about', {
      kind: 'http',
      method: 'PUT',
      url: `${METADATA}/latest/api/token`,
      headers: { 'X-aws-ec2-metadata-token-ttl-seconds': '60' },
      silence: 'refused',
    }),
  ),
  asAgent('metadata-without-session', 'reads metadata without a session', 'no connection, or 401', {
    kind: 'http',
    method: 'GET',
    url: `${METADATA}/latest/meta-data/`,
    silence: 'refused',
  }),
  asAgent('sibling-cua', 'calls the cua-server of another sandbox', 'no connection comes about', {
    kind: 'http',
    method: 'GET',
    url: 'http://{siblingAddress}:5000/status',
    silence: 'refused',
  }),
  asAgent('sibling-ports', 'connects to another sandbox', 'no packet is answered', {
    kind: 'connect',
    host: '{siblingAddress}',
    ports: SANDBOX_PORTS,
  }),
  {
    id: 'outside-ports',
    tries: 'connects to the sandbox from outside the network',
    refusedWhen: 'no packet is answered',
    from: 'outside',
    privileges: ANY_PRIVILEGE,
    way: { kind: 'connect', host: '{publicAddress}', ports: SANDBOX_PORTS },
  },
];

const ROLE: readonly PreflightCheck[] = [
  asRole('role-parameters', 'reads parameters of the deployment', 'ssm', {
    target: 'AmazonSSM.GetParametersByPath',
    body: '{"Path":"/examhall/{stage}","Recursive":true}',
  }),
  asRole('role-documents', 'reads the document that drives sandboxes', 'ssm', {
    target: 'AmazonSSM.GetDocument',
    body: '{"Name":"{runDocument}"}',
  }),
  asRole('role-commands', 'sends a command to another machine', 'ssm', {
    target: 'AmazonSSM.SendCommand',
    body: '{"DocumentName":"{runDocument}","InstanceIds":["i-00000000000000000"]}',
  }),
  asRole('role-references', 'lists the bucket of references', 's3', { path: '/{references}?list-type=2' }),
  asRole('role-other-attempt', 'reads an object of another attempt', 's3', { path: '/{artifacts}/{otherAttemptKey}' }),
  asRole('role-machines', 'lists machines', 'ec2', { body: 'Action=DescribeInstances&Version=2016-11-15' }),
  asRole('role-table', 'reads the table', 'dynamodb', {
    target: 'DynamoDB_20120810.Scan',
    body: '{"TableName":"{table}","Limit":1}',
  }),
  asRole('role-tokens', 'answers for a state machine', 'states', {
    target: 'AWSStepFunctions.SendTaskSuccess',
    body: '{"taskToken":"none","output":"{}"}',
  }),
];

/** What a hostile agent tries, on any sandbox of a deployment. All of it has to be refused. */
export const PREFLIGHT_CHECKS: readonly PreflightCheck[] = [
  ...STORE,
  ...NETWORK,
  ...MACHINE_CHECKS,
  AFTERWARDS,
  ...ROLE,
];
