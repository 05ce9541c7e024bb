import { describe, expect, it } from 'vitest';
import { withFate } from '#core/teardown';
import { FUNCTIONS, functionNamed } from '#contracts/functions';
import { grantedPorts } from '#runtime/granted-ports';
import type { Ports } from '#ports/ports';
import { sandboxSpec } from '#test/fakes/sandbox';
import { World } from '#test/builders/world';

function portsOf(name: string): Ports {
  return grantedPorts(functionNamed(name), new World().ports);
}

const refused = (what: RegExp) => ({ name: 'EnvironmentInvalidError', message: expect.stringMatching(what) as string });
const artifact = (key: string) => ({ bucket: 'artifacts', key }) as const;

describe('a function', () => {
  it('may use what it declares', async () => {
    const ports = portsOf('provision-sandbox');
    const sandbox = await ports.providers.get('noop').acquire(sandboxSpec());
    expect(await ports.providers.all()[0]?.release(sandbox, 'delete')).toEqual(withFate(sandbox.resources, 'gone'));
    await ports.timers.create('t', '2026-01-01T00:00:00.000Z', {});
    await ports.unitStore.write([{ put: { pk: 'a', sk: 'b', body: {} }, when: 'absent' }]);
    expect(ports.versions).toEqual(new World().ports.versions);
  });

  it.each([
    ['run-grader', 'unitStore', async (ports: Ports) => await ports.unitStore.get({ pk: 'a', sk: 'b' })],
    ['run-grader', 'artifacts', async (ports: Ports) => await ports.artifacts.get(artifact('grades/x'))],
    ['grant-slots', 'sandboxes', async (ports: Ports) => await ports.providers.get('noop').acquire(sandboxSpec())],
    [
      'watch-runs',
      'sandboxes',
      async (ports: Ports) => await ports.providers.get('noop').release({ sandboxId: 'x', resources: [] }, 'delete'),
    ],
    ['close-unit', 'events', async (ports: Ports) => await ports.events.publish('slot.freed', {})],
    [
      'stage-unit',
      'channel',
      async (ports: Ports) => await ports.channels.for({ channel: 'local', provider: 'noop' }).call({} as never, [], 1),
    ],
    ['commit-grade', 'modules', async (ports: Ports) => await ports.modules.run({} as never)],
    ['grade-unit', 'executions', async (ports: Ports) => await ports.executions.start('sweep', 'x', {})],
    [
      'run-sandbox-grader',
      'unitStore',
      async (ports: Ports) => await ports.unitStore.write([{ put: { pk: 'a', sk: 'b', body: {} }, when: 'absent' }]),
    ],
    ['stage-unit', 'runTree', async (ports: Ports) => await ports.runTree.makeDir('a', 'b')],
    ['await-sandbox', 'runTree', async (ports: Ports) => await ports.runTree.makeDir('a', 'b')],
  ])('(%s) may not use %s as it did not declare', async (name, port, use) => {
    await expect(async () => await use(portsOf(name))).rejects.toMatchObject(
      refused(new RegExp(`^${name} uses ${port} .*does not declare`, 'u')),
    );
  });
});

describe('objects', () => {
  it('are covered by bucket, prefix and access', async () => {
    const ports = portsOf('stage-grade');
    await ports.artifacts.put(artifact('grades/x/stage.json'), '{}');
    expect(await ports.artifacts.get(artifact('grades/x/stage.json'))).toHaveLength(2);
    const attempts = artifact('attempts/x/output/a');
    await expect(async () => await ports.artifacts.put(attempts, '')).rejects.toMatchObject(
      refused(/to write artifacts\/attempts/u),
    );
    await expect(async () => await ports.artifacts.signUpload('artifacts', 'attempts/x/', 60, 1)).rejects.toMatchObject(
      refused(/to write/u),
    );
    await expect(async () => await ports.artifacts.list('artifacts', 'plans/')).rejects.toMatchObject(
      refused(/to read artifacts\/plans/u),
    );
    await expect(async () => await ports.artifacts.get({ bucket: 'references', key: 'other/x' })).rejects.toMatchObject(
      refused(/to read references\/other/u),
    );
  });

  it('are copied only from where reading and to where writing is allowed', async () => {
    const ports = portsOf('stage-grade');
    await ports.artifacts.put(artifact('grades/x'), '1');
    expect(await ports.artifacts.copy(artifact('grades/x'), artifact('grades/y'))).toMatchObject({ sizeBytes: 1 });
    await expect(
      async () => await ports.artifacts.copy(artifact('grades/x'), artifact('attempts/y')),
    ).rejects.toMatchObject(refused(/to write artifacts\/attempts/u));
    await expect(
      async () => await ports.artifacts.copy(artifact('plans/x'), artifact('grades/y')),
    ).rejects.toMatchObject(refused(/to read artifacts\/plans/u));
  });

  it('that are deposited can be added and listed, neither read nor removed', async () => {
    const { artifacts } = portsOf('accept-commands');
    for (const [bucket, key] of [
      ['references', 'tasks/x/a'],
      ['tasks', 'solutions/x/a'],
    ] as const) {
      const ref = { bucket, key };
      await artifacts.put(ref, 'a');
      expect(await artifacts.list(bucket, key)).toMatchObject({ objects: [{ key, sizeBytes: 1 }] });
      expect(await artifacts.signUpload(bucket, key, 60, 1)).toMatchObject({ url: expect.any(String) as unknown });
      const reads = [
        async () => await artifacts.get(ref),
        async () => await artifacts.getFile(ref, '/nowhere'),
        async () => await artifacts.head(ref),
        async () => await artifacts.signGet(ref, 60),
        async () => await artifacts.copy(ref, ref),
      ];
      for (const read of reads) await expect(read).rejects.toMatchObject(refused(/to read /u));
      await expect(async () => await artifacts.remove(ref)).rejects.toMatchObject(refused(/to remove /u));
    }
    const open = { bucket: 'tasks', key: 'tasks/x/a' } as const;
    await artifacts.put(open, 'a');
    expect(await artifacts.head(open)).toMatchObject({ sizeBytes: 1 });
    await expect(async () => await artifacts.remove(open)).rejects.toMatchObject(refused(/to remove /u));
  });

  it('are removed only where that is declared by itself, which gives no right to read or write them', async () => {
    const written = artifact('attempts/x/output/a');
    const { artifacts: collecting } = portsOf('collect-output');
    await collecting.put(written, 'a');
    await expect(async () => await collecting.remove(written)).rejects.toMatchObject(refused(/to remove /u));
    const { artifacts: closing } = portsOf('close-attempt');
    await closing.remove(artifact('grades/x/stage.json'));
    await closing.remove(written);
    await expect(async () => await closing.get(written)).rejects.toMatchObject(refused(/to read /u));
    await expect(async () => await closing.put(written, 'a')).rejects.toMatchObject(refused(/to write /u));
    await expect(async () => await closing.remove(artifact('sweeps/x'))).rejects.toMatchObject(refused(/to remove /u));
  });

  it('of the references are read by the step that must, and written by publishing alone', () => {
    const holders = (access: 'read' | 'write' | 'deposit') =>
      FUNCTIONS.filter(({ needs }) =>
        needs.some((need) => need.port === 'artifacts' && need.bucket === 'references' && need.access === access),
      ).map(({ name }) => name);
    expect([holders('read'), holders('write'), holders('deposit')]).toEqual([['stage-grade'], [], ['accept-commands']]);
  });
});

it('the graders hold no store, no object and no machine of their own', () => {
  const ports = functionNamed('run-grader').needs.map(({ port }) => port);
  expect(ports.toSorted()).toEqual(['modules', 'workspace']);
});
