import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { COLLECT_LIMITS } from '#contracts/collect-manifest';
import { EVENT_TYPES, EXECUTION_STATUS_TYPE } from '#contracts/events';
import { FUNCTIONS, functionNamed } from '#contracts/functions';

/** Lambda's own bounds. */
const MAX_TIMEOUT_SECONDS = 900;
const MEMORY_MIB = { least: 128, most: 10_240 };
const STORAGE_MIB = { least: 512, most: 10_240 };

describe('the function manifest', () => {
  it('declares each function once, with an entry that is there, and no folder is left undeclared', () => {
    const names = FUNCTIONS.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(20);
    expect(new Set(names).size).toBe(names.length);
    for (const { entry } of FUNCTIONS) expect(existsSync(entry), entry).toBe(true);
    const folders = readdirSync('lambdas', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).filter((name) => name !== 'shared')).toEqual([...names].sort());
  });

  it.each(FUNCTIONS.map((declaration) => [declaration.name, declaration] as const))(
    '%s stays within the bounds of Lambda',
    (_name, { timeoutSeconds, memoryMiB, ephemeralStorageMiB, reservedConcurrency, env }) => {
      expect(timeoutSeconds).toBeGreaterThan(0);
      expect(timeoutSeconds).toBeLessThanOrEqual(MAX_TIMEOUT_SECONDS);
      expect(memoryMiB).toBeGreaterThanOrEqual(MEMORY_MIB.least);
      expect(memoryMiB).toBeLessThanOrEqual(MEMORY_MIB.most);
      expect(ephemeralStorageMiB).toBeGreaterThanOrEqual(STORAGE_MIB.least);
      expect(ephemeralStorageMiB).toBeLessThanOrEqual(STORAGE_MIB.most);
      if (reservedConcurrency !== undefined) expect(reservedConcurrency).toBeGreaterThan(0);
      expect(env.safeParse({}).success).toBe(false);
      expect(env.safeParse({ EXAMHALL_CODE_SHA256: 'a'.repeat(64), HOME: '/root' }).success).toBe(false);
    },
  );

  it('has room for the largest output of an agent wherever a grader reads it', () => {
    const graders = FUNCTIONS.filter(({ needs }) => needs.some(({ port }) => port === 'workspace'));
    expect(graders.map(({ name }) => name)).toContain('run-grader');
    for (const { name, ephemeralStorageMiB } of graders) {
      expect(ephemeralStorageMiB, name).toBeGreaterThanOrEqual(COLLECT_LIMITS.maxTotalMiB + 1024);
    }
  });

  const readersOf = (bucket: string, key: string): string[] =>
    FUNCTIONS.filter(({ needs }) =>
      needs.some(
        (need) =>
          need.port === 'artifacts' &&
          need.bucket === bucket &&
          need.access === 'read' &&
          need.keyPrefixes.some((prefix) => key.startsWith(prefix)),
      ),
    ).map(({ name }) => name);

  it('lets the grade stager alone read references, and the stager alone solutions', () => {
    expect(readersOf('references', 'tasks/a/b/0/manifest.json')).toEqual(['stage-grade']);
    expect(readersOf('tasks', 'solutions/a/b/0/solutions.json')).toEqual(['stage-unit']);
  });

  it('lets only those change rows that do', () => {
    const holders = (access: 'read' | 'write') =>
      FUNCTIONS.filter(({ needs }) => needs.some((need) => need.port === 'unitStore' && need.access === access));
    expect(holders('read').map(({ name }) => name)).toEqual(['stage-grade', 'run-sandbox-grader', 'answer-queries']);
    expect(holders('write').length).toBeGreaterThan(15);
  });

  it('lets only those remove objects that end the life of signed URLs', () => {
    const removals = FUNCTIONS.flatMap(({ name, needs }) =>
      needs.flatMap((need) =>
        need.port === 'artifacts' && need.access === 'remove' ? [[name, need.bucket, ...need.keyPrefixes]] : [],
      ),
    );
    expect(removals).toEqual([
      ['set-up-task', 'artifacts', 'attempts/'],
      ['close-attempt', 'artifacts', 'attempts/', 'grades/'],
      ['commit-grade', 'artifacts', 'grades/'],
    ]);
  });

  // The routes of the API name what they need each by itself.
  it.each(FUNCTIONS.filter(({ name }) => name !== 'accept-commands'))(
    '$name has no port that its use case does not ask for',
    ({ name, needs }) => {
      const asked = portsAskedBy(name);
      expect(asked.length).toBeGreaterThan(0);
      const declared = [...new Set(needs.map(({ port }) => port))];
      expect(declared.filter((port) => !asked.includes(port))).toEqual([]);
    },
  );

  it('gives the light grader no right but to run a module and to use signed URLs', () => {
    const grader = functionNamed('run-grader');
    expect(grader.needs.map(({ port }) => port).sort()).toEqual(['modules', 'workspace']);
  });

  it('listens only to events that somebody publishes', () => {
    const heard = FUNCTIONS.flatMap(({ trigger }) => (trigger.kind === 'event' ? trigger.detailTypes : []));
    expect(heard.length).toBeGreaterThan(0);
    const known: readonly string[] = [...EVENT_TYPES, EXECUTION_STATUS_TYPE];
    expect(heard.filter((type) => !known.includes(type))).toEqual([]);
  });

  it('keeps release, reaper and watch from being starved: each has concurrency of its own', () => {
    for (const name of ['release-sandbox', 'reap-sandboxes', 'watch-runs', 'expire-sandbox', 'on-execution-failed']) {
      expect(functionNamed(name).reservedConcurrency, name).toBeGreaterThan(0);
    }
  });

  it('names what it knows when asked for an unknown function', () => {
    expect(() => functionNamed('mine-coins')).toThrow(/unknown function "mine-coins"; declared: plan-sweep/u);
  });
});

/** Ports in the type of what a use case needs, by the names of declarations. */
function portsAskedBy(name: string): readonly string[] {
  const source = readFileSync(`lambdas/shared/usecases/${name}.ts`, 'utf8');
  const needs = /Pick<\s*Ports,([^>]+)>/u.exec(source)?.[1] ?? '';
  const renamed: Readonly<Record<string, string>> = { providers: 'sandboxes', channels: 'channel' };
  const ports = [...needs.matchAll(/'(\w+)'/gu)].map(([, port = '']) => renamed[port] ?? port);
  // Who asks for sandboxes or their channels meets those that were given too.
  return ports.includes('sandboxes') || ports.includes('channel') ? [...ports, 'staticMachines'] : ports;
}
