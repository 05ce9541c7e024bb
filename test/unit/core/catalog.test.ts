import { describe, expect, it } from 'vitest';
import { AgentManifestSchema } from '#core/agent-manifest';
import { agentManifestKey, RevisionSchema, TaskIdSchema, taskManifestKey } from '#core/catalog';
import { recordingFileName, RecordingSchema } from '#core/recording';
import { taskPathsOf } from '#core/task-paths';

const REVISION = `sha256:${'a'.repeat(64)}`;

describe('the catalog', () => {
  it.each(['demo/hello', 'business_finance/form_1040', 'a/b-c_1'])('takes %s as a task id', (id) => {
    expect(TaskIdSchema.parse(id)).toBe(id);
  });

  it.each(['demo', 'demo/', '/x', 'a/b/c', 'A/b', '../x', 'a/..', 'a b/c', '_shared/x'])(
    'refuses %j as a task id',
    (id) => {
      expect(TaskIdSchema.safeParse(id).success).toBe(false);
    },
  );

  it('has one place for every revision', () => {
    expect(taskManifestKey({ taskId: 'demo/hello', revision: REVISION })).toBe(
      `tasks/demo/hello/${'a'.repeat(64)}/manifest.json`,
    );
    expect(agentManifestKey({ agentId: 'nop', revision: REVISION })).toBe(`agents/nop/${'a'.repeat(64)}/manifest.json`);
    expect(RevisionSchema.safeParse('sha256:../../x').success).toBe(false);
  });
});

describe('an agent manifest', () => {
  const minimal = {
    id: 'nop',
    version: '1.0.0',
    harness: 'nop',
    description: 'Does nothing.',
    executor: 'sandbox',
    runtime: { node: '>=20.19' },
    launch: 'launch.ts',
    parser: 'parser.ts',
  };

  it('needs little', () => {
    expect(AgentManifestSchema.parse(minimal)).toMatchObject({
      stages: [],
      recordings: false,
      limits: {},
      requiredEnv: [],
    });
  });

  it.each([
    [{ surprise: 1 }, 'surprise'],
    [{ id: 'No' }, '1 to 63 of a-z 0-9'],
    [{ executor: 'host' }, 'sandbox'],
    [{ stages: ['reference'] }, 'solution'],
    [{ launch: '../launch.ts' }, '.ts file in the agent folder'],
    [{ runtime: { node: 'latest' } }, 'Node version'],
    [{ requiredEnv: ['api key'] }, 'variable name'],
    [{ limits: { timeoutSeconds: 0 } }, '>0'],
  ])('refuses %j', (change, message) => {
    const parsed = AgentManifestSchema.safeParse({ ...minimal, ...change });
    expect(JSON.stringify(parsed.error?.issues)).toContain(message);
  });
});

describe('a recording', () => {
  it('has steps, or steps by variant', () => {
    const steps = [{ run: 'true' }];
    expect(RecordingSchema.safeParse({ version: 1, task: 'demo/hello', steps }).success).toBe(true);
    expect(RecordingSchema.safeParse({ version: 1, task: 'demo/hello', variants: { a: { steps } } }).success).toBe(
      true,
    );
    expect(RecordingSchema.safeParse({ version: 1, task: 'demo/hello' }).success).toBe(false);
    expect(RecordingSchema.safeParse({ version: 1, task: 'demo/hello', steps: [] }).success).toBe(false);
    expect(recordingFileName('demo/hello')).toBe('demo__hello.json');
  });
});

describe('the paths of a variant', () => {
  it('follow the guest', () => {
    const place = { taskId: 'demo/hello', variantName: 'base' } as const;
    expect(taskPathsOf({ ...place, os: 'linux', dataRoot: '/data/' }).output).toBe('/data/demo/hello/base/output');
    expect(taskPathsOf({ ...place, os: 'windows', dataRoot: 'E:\\x' }).input).toBe('E:\\x\\demo\\hello\\base\\input');
  });
});
