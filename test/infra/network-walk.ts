import { AGENT_ACTIONS } from '../../infra/constructs/network-endpoints.ts';
import { isAllowed, type IamRequest } from './iam-evaluator.ts';
import type { GroupRule, NetworkModel, Purpose, SubnetModel } from './network-model.ts';
import { ACCOUNT } from './resolve-statements.ts';

const ANYWHERE = '0.0.0.0/0';
const OWN = { 'aws:PrincipalAccount': ACCOUNT };
const STRANGER = { 'aws:PrincipalAccount': '999988887777' };

const GROUPS: Readonly<Record<Purpose, string>> = {
  open: 'SandboxGroupopen',
  sealed: 'SandboxGroupsealed',
  grader: 'GraderGroup',
  calls: 'CallGroup',
};
/** Where the cua-server of a sandbox listens. */
const CUA_PORT = 5000;

type S3Call = readonly [action: 's3:GetObject' | 's3:PutObject', object: string];

const object = (path: string): string => `arn:aws:s3:::${path}`;
const SANDBOX_OBJECTS: readonly S3Call[] = [
  ['s3:GetObject', object('tasks/tasks/t/input.csv')],
  ['s3:GetObject', object('tasks/agents/a/bundle.mjs')],
  ['s3:GetObject', object('artifacts/attempts/u.1/list.json')],
  ['s3:PutObject', object('artifacts/attempts/u.1/output/a.txt')],
];
/** What each has to reach in S3; a sandbox of `open` goes by the internet. */
const NEEDED_OBJECTS: Readonly<Record<Purpose, readonly S3Call[]>> = {
  open: SANDBOX_OBJECTS,
  sealed: SANDBOX_OBJECTS,
  grader: [
    ['s3:GetObject', object('references/tasks/t/answer.json')],
    ['s3:GetObject', object('tasks/tasks/t/task.mjs')],
    ['s3:GetObject', object('artifacts/attempts/u.1/output/a.txt')],
    ['s3:GetObject', object('artifacts/grades/g/stage.json')],
    ['s3:PutObject', object('artifacts/grades/g/raw.json')],
  ],
  calls: [],
};
/** What none may reach through an endpoint of ours, whoever signed it. */
const FORBIDDEN_OBJECTS: Readonly<Record<Purpose, readonly S3Call[]>> = {
  open: [],
  sealed: [
    ['s3:GetObject', object('references/tasks/t/answer.json')],
    ['s3:PutObject', object('references/tasks/t/answer.json')],
    ['s3:PutObject', object('tasks/tasks/t/input.csv')],
    ['s3:GetObject', object('artifacts/runs/e/record.json')],
    ['s3:PutObject', object('artifacts/grades/g/raw.json')],
    ['s3:PutObject', object('somebody-else/loot')],
    ['s3:GetObject', object('somebody-else/tool')],
  ],
  grader: [
    ['s3:PutObject', object('artifacts/attempts/u.1/grade-1.json')],
    ['s3:PutObject', object('references/tasks/t/answer.json')],
    ['s3:PutObject', object('somebody-else/loot')],
  ],
  calls: [
    ['s3:GetObject', object('references/tasks/t/answer.json')],
    ['s3:PutObject', object('somebody-else/loot')],
  ],
};

export interface WalkInput {
  readonly profiles: readonly ('open' | 'sealed')[];
  readonly openPorts: readonly number[];
  /** `address:port` of static machines. */
  readonly staticHosts?: readonly string[];
}

/** Everything that is wrong with a network: needs without a route, routes without a need, and ways in. */
export function walkNetwork(network: NetworkModel, input: WalkInput): readonly string[] {
  const { profiles, openPorts } = input;
  const problems = [...profiles, 'grader' as const, 'calls' as const].flatMap((purpose) => {
    const subnets = network.subnets.filter((subnet) => subnet.purpose === purpose);
    if (subnets.length === 0) return [`${purpose}: has no subnet`];
    return subnets.flatMap((subnet) => {
      const from = new Walk(network, purpose, subnet);
      if (purpose === 'calls') return from.callProblems(input).map((problem) => `${purpose}: ${problem}`);
      const out = purpose === 'open' ? from.internetProblems(openPorts) : from.exitProblems();
      const agent = purpose === 'grader' ? [] : from.agentProblems();
      return [...out, ...agent, ...from.objectProblems(), ...from.inboundProblems()].map(
        (problem) => `${purpose}: ${problem}`,
      );
    });
  });
  return [...new Set([...problems, ...strayWaysIn(network)])];
}

/** One who stands in a subnet, with the security group of its purpose. */
class Walk {
  readonly #network: NetworkModel;
  readonly #purpose: Purpose;
  readonly #subnet: SubnetModel;
  readonly #group: string;

  constructor(network: NetworkModel, purpose: Purpose, subnet: SubnetModel) {
    this.#network = network;
    this.#purpose = purpose;
    this.#subnet = subnet;
    const groups = [...network.groups.keys()].filter((id) => id.startsWith(GROUPS[purpose]));
    const [group] = groups;
    if (group === undefined || groups.length > 1)
      throw new Error(`${String(groups.length)} security groups for ${purpose}`);
    this.#group = group;
  }

  internetProblems(ports: readonly number[]): readonly string[] {
    const closed = ports.filter((port) => !this.#reachesInternet(port));
    const wide = this.#rules('egress').filter(
      ({ peer, from, to }) => peer === ANYWHERE && (from !== to || !ports.includes(from)),
    );
    return [
      ...closed.map((port) => `does not reach the internet on port ${String(port)}`),
      ...wide.map(
        ({ from, to }) => `may leave on ports ${String(from)} to ${String(to)}, which are not in the settings`,
      ),
    ];
  }

  /** For the function that calls guests: to the cua port of each sandbox and to static machines, and nowhere else. */
  callProblems({ profiles, staticHosts = [] }: WalkInput): readonly string[] {
    const groups = profiles.map((profile) => GROUPS[profile]);
    const targets = this.#rules('egress').map(({ peer, protocol, from, to }) => {
      const name = groups.find((group) => peer.startsWith(group)) ?? peer.replace(/\/32$/, '');
      return `${name}:${from === to && protocol === 'tcp' ? String(from) : `${protocol} ${String(from)}-${String(to)}`}`;
    });
    const wanted = [...groups.map((group) => `${group}:${String(CUA_PORT)}`), ...staticHosts];
    return [
      ...this.#routeProblems(),
      ...targets.filter((target) => !wanted.includes(target)).map((target) => `may leave to ${target}`),
      ...wanted.filter((target) => !targets.includes(target)).map((target) => `may not leave to ${target}`),
      ...this.objectProblems(),
      ...this.inboundProblems(),
    ];
  }

  #routeProblems(): readonly string[] {
    return [
      ...this.#subnet.routes.map(({ to, through }) => `has a route to ${to} through ${through}`),
      ...this.#subnet.gateways
        .filter(({ service }) => service !== 's3')
        .map(({ service }) => `has a gateway to ${service}`),
      ...(this.#subnet.givesPublicAddress ? ['is given a public address'] : []),
    ];
  }

  /** For those without internet: nothing but endpoints may lead out of the VPC. */
  exitProblems(): readonly string[] {
    return [
      ...this.#routeProblems(),
      ...this.#rules('egress')
        .filter(({ protocol, from, to }) => protocol !== 'tcp' || from !== 443 || to !== 443)
        .map(({ peer }) => `may leave to ${peer} on more than port 443`),
    ];
  }

  agentProblems(): readonly string[] {
    return (['ssm', 'ssmmessages'] as const).flatMap((service) => {
      const endpoints = this.#network.endpoints.filter((each) => each.service === service && each.hasPrivateDns);
      const [endpoint] = endpoints;
      // Private DNS turns the service's name to the endpoint for everybody in the VPC: there is no other way then.
      if (endpoint === undefined) return this.#reachesInternet(443) ? [] : [`has no route to ${service}`];
      const isRouted = endpoint.groups.some((group) => this.#mayTalkTo(group));
      const calls = AGENT_ACTIONS[service].map((action): IamRequest => ({ action, resource: '*', context: OWN }));
      const refused = calls
        .filter((call) => !isAllowed(endpoint.policy, call))
        .map(({ action }) => `may not call ${action}`);
      const lent = calls.filter((call) => isAllowed(endpoint.policy, { ...call, context: STRANGER }));
      const excess = ['ssm:GetParameter', 'ssm:SendCommand', 'ssmmessages:Other'].filter((action) =>
        isAllowed(endpoint.policy, { action, resource: '*', context: OWN }),
      );
      return [
        ...(isRouted ? [] : [`is not let through to ${service}`]),
        ...refused,
        ...lent.map(({ action }) => `may call ${action} with another account's credentials`),
        ...excess.map((action) => `may call ${action}`),
      ];
    });
  }

  objectProblems(): readonly string[] {
    const named = ([action, resource]: S3Call): string => `${action} ${resource}`;
    return [
      ...NEEDED_OBJECTS[this.#purpose]
        .filter((call) => !this.#reachesObject(call, OWN))
        .map((call) => `has no route for ${named(call)}`),
      ...FORBIDDEN_OBJECTS[this.#purpose]
        .filter((call) => this.#reachesObject(call, OWN))
        .map((call) => `has a route for ${named(call)}`),
      ...(this.#purpose === 'open'
        ? []
        : NEEDED_OBJECTS[this.#purpose]
            .filter((call) => this.#reachesObject(call, STRANGER))
            .map((call) => `has a route for ${named(call)} with another account's credentials`)),
    ];
  }

  /** Nobody gets in, but for calls to the cua port of a sandbox. */
  inboundProblems(): readonly string[] {
    const isSandbox = this.#purpose === 'open' || this.#purpose === 'sealed';
    const rules = this.#rules('ingress');
    const isCall = ({ peer, protocol, from, to }: GroupRule): boolean =>
      isSandbox && peer.startsWith(GROUPS.calls) && protocol === 'tcp' && from === CUA_PORT && to === CUA_PORT;
    return [
      ...rules
        .filter((rule) => !isCall(rule))
        .map(({ peer, from, to }) => `is reached by ${peer} on ports ${String(from)} to ${String(to)}`),
      ...(isSandbox && !rules.some(isCall) ? ['is not reached by calls'] : []),
    ];
  }

  #rules(direction: 'ingress' | 'egress'): readonly GroupRule[] {
    return this.#network.groups.get(this.#group)?.[direction] ?? [];
  }

  #mayLeave(port: number, isPeer: (peer: string) => boolean): boolean {
    return this.#rules('egress').some(
      ({ peer, protocol, from, to }) => protocol === 'tcp' && from <= port && port <= to && isPeer(peer),
    );
  }

  #reachesInternet(port: number): boolean {
    const { routes, givesPublicAddress } = this.#subnet;
    const isRouted = routes.some(
      ({ to, through }) => to === ANYWHERE && this.#network.internetGateways.includes(through),
    );
    return isRouted && givesPublicAddress && this.#mayLeave(port, (peer) => peer === ANYWHERE);
  }

  /** Both ends have to say so. */
  #mayTalkTo(group: string): boolean {
    const admits = (this.#network.groups.get(group)?.ingress ?? []).some(
      ({ peer, protocol, from, to }) => peer === this.#group && protocol === 'tcp' && from <= 443 && 443 <= to,
    );
    return admits && this.#mayLeave(443, (peer) => peer === group || peer === ANYWHERE);
  }

  #reachesObject([action, resource]: S3Call, context: Readonly<Record<string, string>>): boolean {
    const gateway = this.#subnet.gateways.find(({ service }) => service === 's3');
    if (gateway === undefined) return this.#reachesInternet(443);
    const mayLeave = this.#mayLeave(443, (peer) => peer === ANYWHERE || peer.startsWith('pl-'));
    return mayLeave && isAllowed(gateway.policy, { action, resource, context });
  }
}

/** A rule anywhere that lets in by address rather than by group, lets anybody but a sandbox to the endpoints, or any but calls to a sandbox. */
function strayWaysIn({ groups }: NetworkModel): readonly string[] {
  const admitted = (id: string): string => (id.startsWith('SandboxGroup') ? GROUPS.calls : 'SandboxGroup');
  return [...groups].flatMap(([id, { ingress }]) =>
    ingress
      .filter(({ peer }) => !groups.has(peer) || !peer.startsWith(admitted(id)))
      .map(({ peer }) => `${id} lets in ${peer}`),
  );
}
