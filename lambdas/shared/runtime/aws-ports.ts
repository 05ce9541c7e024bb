import path from 'node:path';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import type { Need } from '#contracts/needs';
import type { Ports } from '#ports/ports';
import { absentPort } from './absent-port.ts';
import {
  dynamoUnitStore,
  eventBridgeEvents,
  s3Artifacts,
  s3RunTree,
  schedulerTimers,
  scratchWorkspace,
  sfnExecutions,
  sfnTokens,
} from './aws-adapters.ts';
import { readAwsEnvironment, type AwsEnvironment } from './aws-environment.ts';
import { cloudChannels, cloudProviders, directGuestCalls } from './aws-sandboxes.ts';
import { nodeDigest } from './digest.ts';
import { grantedPorts } from './granted-ports.ts';
import { systemIds } from './ids.ts';
import { createJsonLog } from './json-log.ts';
import { composeModuleRunner } from './module-runner.ts';
import { systemClock } from './system-clock.ts';
import { composeThumbnailer } from './thumbnailer.ts';

/** Put in by the bundler. */
declare const EXAMHALL_VERSION: string | undefined;
const VERSION = typeof EXAMHALL_VERSION === 'undefined' ? 'unknown' : EXAMHALL_VERSION;

/**
 * Ports of a deployed function: AWS adapters for exactly what it declares, from exactly the variables that this gives it;
 * all else throws by name. An adapter and its SDK are evaluated only where a need asks for them.
 * @throws EnvironmentInvalidError naming each variable that is missing, wrong or not declared.
 */
export async function composeAwsPorts(
  declaration: FunctionDeclaration,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Ports> {
  const variables = readAwsEnvironment(declaration, env);
  const ports = await declaredPorts(declaration.needs, variables, env['AWS_REGION'] ?? null);
  return grantedPorts(declaration, ports);
}

async function declaredPorts(needs: readonly Need[], env: AwsEnvironment, region: string | null): Promise<Ports> {
  type Declared = Need['port'] & keyof Ports;
  const when = async <Name extends Declared>(name: Name, make: () => Promise<Ports[Name]>): Promise<Ports[Name]> => {
    return needs.some((need) => need.port === name) ? await make() : absentPort<Ports[Name]>(name);
  };
  const clock = systemClock;
  const unitStore = await when('unitStore', async () => await dynamoUnitStore(env));
  return {
    unitStore,
    artifacts: await when('artifacts', async () => await s3Artifacts(needs, env)),
    runTree: await when('runTree', async () => await s3RunTree(env)),
    events: await when('events', async () => await eventBridgeEvents(env)),
    tokens: await when('tokens', async () => await sfnTokens()),
    executions: await when('executions', async () => await sfnExecutions(env)),
    timers: await when('timers', async () => await schedulerTimers(needs, env, clock)),
    workspace: await when('workspace', scratchWorkspace),
    modules: await when('modules', async () => {
      return await Promise.resolve(composeModuleRunner(path.join(import.meta.dirname, 'child-entry.mjs')));
    }),
    policy: env.EXAMHALL_POLICY ?? absentPort<Ports['policy']>('policy'),
    providers: await cloudProviders({ needs, env, clock, unitStore }),
    channels: await cloudChannels({ needs, env, clock, unitStore }),
    guestCalls: await when('guestCalls', directGuestCalls),
    guestHosts: env.EXAMHALL_STATIC_HOSTS ?? [],
    clock,
    ids: systemIds,
    digest: nodeDigest,
    thumbnails: composeThumbnailer(),
    versions: { examHall: VERSION, node: process.versions.node, guestRunner: null },
    region,
    code: { version: VERSION, sha256: env.EXAMHALL_CODE_SHA256 ?? '' },
    log: createJsonLog(
      (line) => process.stdout.write(`${line}\n`),
      () => clock.now(),
    ),
  };
}
