import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Stack, type StackProps } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { StringParameter } from 'aws-cdk-lib/aws-ssm';
import type { Construct } from 'constructs';
import { sandboxSettingsParameterName } from '#contracts/deployment-outputs';
import { FUNCTIONS, functionNamed } from '#contracts/functions';
import type { Machine } from '#contracts/triggers';
import { spliceUnit } from '#core/splice';
import { REPOSITORY } from '../bundler.ts';
import { documentName } from '../config/sandbox-variable.ts';
import type { StageSettings } from '../config/settings.ts';
import { AslStateMachine } from '../constructs/asl-state-machine.ts';
import { DeadLetterQueue } from '../constructs/dead-letter-queue.ts';
import { FunctionTriggers } from '../constructs/function-triggers.ts';
import type { HostResources, SandboxResources } from '../constructs/host-resources.ts';
import { SandboxMachines } from '../constructs/sandbox-machines.ts';
import { launchedSandboxes } from '../constructs/sandbox-resources.ts';
import { SandboxSchedules } from '../constructs/sandbox-schedules.ts';
import { StageFunction, type IsolatedNetwork } from '../constructs/stage-function.ts';
import type { DataStack } from './data-stack.ts';
import type { NetworkStack } from './network-stack.ts';

/** What is deployed: bundles by function name, and the versions records and outputs name. */
export interface Deployable {
  readonly functions: ReadonlyMap<string, { readonly folder: string }>;
  readonly versions: { readonly examhall: string; readonly codeSha256: string };
}

export interface PipelineStackProps extends StackProps {
  readonly settings: StageSettings;
  readonly data: Pick<DataStack, 'table' | 'buckets' | 'keys' | 'volumeKey'>;
  readonly network: IsolatedNetwork & Pick<NetworkStack, 'sandboxes'>;
  readonly deployable: Deployable;
}

const MAP_LABEL = 'RunUnits';
/** Requests, plans and map results of sweeps in the artifacts bucket. */
const SWEEPS_PREFIX = 'sweeps/';

/** The pipeline: its functions, its two machines, and what starts them. The API's functions are in the API's stack. */
export class PipelineStack extends Stack {
  readonly functions: ReadonlyMap<string, StageFunction>;
  readonly machines: Readonly<Record<'sweep' | 'grade', AslStateMachine>>;
  readonly bus: EventBus;
  /** Events that could not be handed over. */
  readonly undelivered: DeadLetterQueue;
  /** Asynchronous invocations that failed for good. */
  readonly setAside: DeadLetterQueue;
  /** Complete: functions of other stacks are made from it. */
  readonly resources: HostResources;
  readonly #functions = new Map<string, StageFunction>();
  readonly #props: PipelineStackProps;

  constructor(scope: Construct, id: string, props: PipelineStackProps) {
    super(scope, id, props);
    this.#props = props;
    this.bus = new EventBus(this, 'Bus', { description: 'Exam Hall: what happened, for functions that follow' });
    this.undelivered = new DeadLetterQueue(this, 'Undelivered');
    this.setAside = new DeadLetterQueue(this, 'SetAside');
    const schedules = new SandboxSchedules(this, 'Schedules');
    let resources = this.#resources(schedules);
    resources = { ...resources, sandboxes: this.#sandboxes() };
    const callGuestAliasArn = this.#make('call-guest', resources).alias.functionArn;
    resources = { ...resources, callGuestAliasArn };
    const expireAliasArn = this.#make('expire-sandbox', resources).alias.functionArn;
    const roleArn = schedules.role(expireAliasArn).roleArn;
    resources = { ...resources, schedules: { ...resources.schedules, expireAliasArn, roleArn } };
    const grade = this.#machine('grade', resources);
    resources = { ...resources, machines: { grade } };
    const sweep = this.#machine('sweep', resources);
    resources = { ...resources, machines: { grade, sweep } };
    for (const { name, trigger } of FUNCTIONS) if (trigger.kind !== 'api') this.#make(name, resources);
    this.machines = { sweep, grade };
    this.functions = this.#functions;
    this.resources = resources;
    this.#trigger([sweep.arn, grade.arn]);
  }

  #resources({ groupName, scheduleArns }: SandboxSchedules): HostResources {
    const { data, settings, deployable } = this.#props;
    const bucket = (name: keyof DataStack['buckets']) => ({
      name: data.buckets[name].bucketName,
      arn: data.buckets[name].bucketArn,
      keyArn: data.keys[name].keyArn,
    });
    return {
      table: { name: data.table.tableName, arn: data.table.tableArn },
      buckets: { artifacts: bucket('artifacts'), tasks: bucket('tasks'), references: bucket('references') },
      bus: { name: this.bus.eventBusName, arn: this.bus.eventBusArn },
      schedules: { groupName, scheduleArns },
      machines: {},
      policyJson: JSON.stringify(settings.policy),
      codeSha256: deployable.versions.codeSha256,
      setAsideQueueArn: this.setAside.queue.queueArn,
      staticHosts: settings.sandboxes.staticHosts,
    };
  }

  #sandboxes(): SandboxResources {
    const { data, network, settings } = this.#props;
    const networks = network.sandboxes;
    const machines = new SandboxMachines(this, 'Sandbox', { settings, networks });
    const volumeKeyArn = data.volumeKey.keyArn;
    const resources = launchedSandboxes(this, { settings, volumeKeyArn }, { machines, networks });
    new StringParameter(this, 'SandboxSettings', {
      parameterName: sandboxSettingsParameterName(settings.stage),
      description: 'Exam Hall: what sandboxes of this deployment are launched from, and where',
      stringValue: resources.settingsJson,
    });
    return resources;
  }

  /** Makes a function the first time it is asked for. */
  #make(name: string, resources: HostResources): StageFunction {
    const { network, settings, deployable } = this.#props;
    const found = this.#functions.get(name);
    if (found !== undefined) return found;
    const made = new StageFunction(this, constructId(name), {
      declaration: functionNamed(name),
      folder: folderOf(name, deployable),
      resources,
      isolated: network,
      logRetentionDays: settings.logRetentionDays,
    });
    this.#functions.set(name, made);
    return made;
  }

  /** The unit's machine is spliced into the sweep's and has none of its own. */
  #machine(name: 'sweep' | 'grade', resources: HostResources): AslStateMachine {
    const parts: readonly Machine[] = name === 'sweep' ? ['sweep', 'unit'] : ['grade'];
    const functions = new Map<string, StageFunction>();
    for (const { name: functionName, trigger } of FUNCTIONS) {
      if (trigger.kind !== 'state' || !parts.includes(trigger.machine)) continue;
      functions.set(trigger.state, this.#make(functionName, resources));
    }
    const definition = name === 'sweep' ? spliceUnit(readMachine('sweep'), readMachine('unit')) : readMachine(name);
    const map = { bucket: resources.buckets.artifacts, keyPrefix: SWEEPS_PREFIX, label: MAP_LABEL };
    return new AslStateMachine(this, constructId(`${name}-machine`), {
      name,
      definition,
      functions,
      logRetentionDays: this.#props.settings.logRetentionDays,
      ...(name === 'sweep' ? { map } : {}),
    });
  }

  #trigger(machineArns: readonly string[]): void {
    const waitDocumentName = documentName(this.#props.settings.stage, 'wait');
    const props = { bus: this.bus, machineArns, waitDocumentName, undelivered: this.undelivered.queue };
    for (const [name, target] of this.#functions) {
      const { kind } = target.declaration.trigger;
      if (kind === 'event' || kind === 'schedule') {
        new FunctionTriggers(this, constructId(`${name}-triggers`), target, props);
      }
    }
  }
}

function readMachine(name: Machine): Readonly<Record<string, unknown>> {
  const file = path.join(REPOSITORY, 'state-machines', `${name}.asl.json`);
  return JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
}

/** @throws Error naming the function that was not bundled. */
export function folderOf(name: string, { functions }: Deployable): string {
  const bundle = functions.get(name);
  if (bundle !== undefined) return bundle.folder;
  throw new Error(`${name} is declared and was not bundled; bundled: ${[...functions.keys()].join(', ') || 'nothing'}`);
}

/** `plan-sweep` -> `PlanSweep`. */
export function constructId(name: string): string {
  return name.replace(/(?:^|-)([a-z0-9])/gu, (_, letter: string) => letter.toUpperCase());
}
