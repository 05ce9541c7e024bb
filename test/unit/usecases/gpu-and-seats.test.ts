import { EC2Client } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { createEc2Provider } from '#adapters/ec2-provider';
import { taskManifestKey } from '#core/catalog';
import type { SandboxSettings } from '#core/sandbox-settings';
import { providersOf } from '#local/local-providers';
import { planSweep } from '#usecases/plan-sweep';
import { call, publishBoth, refusal, startBody, API_POLICY } from '#test/builders/api-call';
import { UNIT } from '#test/builders/attempt-run';
import { publishFakeTask, requestSweep } from '#test/builders/catalog';
import { sandboxSettings } from '#test/builders/sandbox-settings';
import { World } from '#test/builders/world';

const plain = sandboxSettings().images;
const WINDOWS = { ...sandboxSettings().images['ale-win-server'], os: 'windows', seats: null } as const;
type Images = SandboxSettings['images'];

/** A world whose `aws` is the real provider by a stage's settings, as a deployment has it at planning: without networks. */
function worldWith(images: Images): World {
  const world = new World({ policy: API_POLICY });
  const provider = createEc2Provider({
    client: new EC2Client({ region: 'us-east-1' }),
    settings: sandboxSettings({ images, networks: {} }),
    clock: world.clock,
    boot: { archive: () => Promise.reject(new Error('nothing is launched here')) },
  });
  Object.defineProperty(world, 'ports', { value: { ...world.ports, providers: providersOf([provider]) } });
  return world;
}

interface Asked {
  readonly snapshot: string;
  readonly image: string;
  readonly vm?: Readonly<Record<string, unknown>>;
  readonly knobs?: Readonly<Record<string, unknown>>;
  readonly gradingMode?: 'light' | 'same-sandbox';
  readonly os?: 'linux' | 'windows';
}

const GPU: Asked = { snapshot: 'gpu-free', image: 'ale-win-server-gpu', vm: { machineType: 'g2-standard-8' } };
const CARD = { imageId: 'ami-0cccccccccccccccc', revision: null, kind: 'prepared', rootDevice: '/dev/sda1' } as const;
const GPU_IMAGE = { ...CARD, os: 'windows', volumeGiB: 100, seats: null, gpu: true } as const;

/** The snapshot of the request, under the tag of the card. */
const routed = ({ snapshot, image, knobs = {}, os = 'windows' }: Asked) => ({
  [snapshot]: { provider: 'aws', image, os, resolution: null, knobs: { ...knobs } },
});

/** Of the task as it is published. */
const taskOf = ({ snapshot, vm, gradingMode = 'light' }: Asked) => ({ vm: { snapshot, ...vm }, gradingMode }) as const;

async function plan(world: World, asked: Asked): Promise<void> {
  const task = await publishFakeTask(world.artifacts, taskOf(asked));
  const tasks = [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }];
  await requestSweep(world.artifacts, { tasks, snapshots: routed(asked) });
  await planSweep({ sweepId: 'first', run: 1 }, world.ports);
}

const IN_WINDOWS: Asked = { snapshot: 'cpu-free', image: 'ale-win-server', gradingMode: 'same-sandbox' };
const ON_WINDOWS = /grading mode same-sandbox .*image ale-win-server of provider aws is Windows: use a task whose/u;

const REFUSED: readonly (readonly [string, Images, Asked, RegExp])[] = [
  [
    'a GPU image that the stage has not',
    plain,
    GPU,
    /has no image "ale-win-server-gpu"; it has ale-ubuntu22, ale-win-server/u,
  ],
  [
    'a GPU shape on an image without a driver',
    { ...plain, 'ale-win-server-gpu': GPU_IMAGE },
    { ...GPU, image: 'ale-win-server' },
    /a GPU with image ale-win-server, which has no driver .*: ale-win-server-gpu\)/u,
  ],
  [
    'a GPU by the environment on an image without a driver',
    plain,
    { snapshot: 'gpu-free', image: 'ale-win-server', knobs: { gpu: 'nvidia-l4' } },
    /has no driver for one .*: none\)/u,
  ],
  [
    'a card that no EC2 type is named for',
    { ...plain, 'ale-win-server-gpu': GPU_IMAGE },
    { ...GPU, vm: { machineType: 'a2-highgpu-1g' } },
    /a machine of a2-highgpu-1g with a GPU \(name its EC2 types in sandboxes\.machineTypes/u,
  ],
  [
    'licensed software without seats',
    { ...plain, 'ale-win-server-license': WINDOWS as Images[string] },
    { snapshot: 'cpu-license', image: 'ale-win-server-license' },
    /snapshot cpu-license is licensed software.*set seats of sandboxes\.images\.ale-win-server-license/u,
  ],
  [
    'an image of another account',
    plain,
    { snapshot: 'cpu-free', image: 'ale-win-server', knobs: { ami: 'ami-other' } },
    /provider aws cannot give ami "ami-other" \(the image is ami-0bbbbbbbbbbbbbbbb/u,
  ],
  [
    'a machine on hardware of its own',
    plain,
    { snapshot: 'cpu-free', image: 'ale-win-server', knobs: { tenancy: 'dedicated' } },
    /tenancy "dedicated" \(allowed: default\)/u,
  ],
  [
    'Windows where the stage has another system under that name',
    { ...plain, 'ale-win-server': { ...CARD, os: 'linux', volumeGiB: 30, seats: null } },
    { snapshot: 'cpu-free', image: 'ale-win-server' },
    /os windows \(image ale-win-server has linux\)/u,
  ],
  ['a grader in a Windows sandbox', plain, IN_WINDOWS, ON_WINDOWS],
  ['a grader in a Windows sandbox that the request calls Linux', plain, { ...IN_WINDOWS, os: 'linux' }, ON_WINDOWS],
];

describe('GPUs, licensed software, foreign images and graders on Windows at planning', () => {
  it.each(REFUSED)('refuse %s, by name, before anything is launched', async (_, images, asked, message) => {
    await expect(plan(worldWith(images), asked)).rejects.toMatchObject({
      name: 'SandboxRefusedError',
      message: expect.stringMatching(message) as unknown,
    });
  });

  it.each(REFUSED)('refuse %s through the API, at the task', async (_, images, asked, message) => {
    const world = worldWith(images);
    await publishBoth(world, taskOf(asked));
    const knobs = { region: 'us-east-1', zones: ['us-east-1a'], ...asked.knobs };
    const body = startBody({ snapshots: routed({ ...asked, knobs }) });
    const { status, problems } = await refusal(world, 'startSweep', { body });
    expect(status).toBe(422);
    expect(problems.filter(({ path }) => path !== 'body.snapshots.cpu-free.os')).toEqual([
      { path: 'body.tasks[0].path', message: expect.stringMatching(message) as unknown },
    ]);
  });

  it('take a grader in a Linux sandbox, and one of a Windows sandbox that reads files', async () => {
    for (const asked of [
      { ...IN_WINDOWS, image: 'ale-ubuntu22', os: 'linux' as const },
      { snapshot: IN_WINDOWS.snapshot, image: IN_WINDOWS.image },
    ]) {
      const world = worldWith(plain);
      await plan(world, asked);
      expect(await world.unit(UNIT)).toMatchObject({ class: 'open' });
    }
  });

  it('take a GPU image of the settings, with the card that GCE’s has', async () => {
    const world = worldWith({ ...plain, 'ale-win-server-gpu': GPU_IMAGE });
    await plan(world, GPU);
    expect(await world.unit(UNIT)).toMatchObject({ vCpus: 8, seat: null });
  });

  it('take a GPU that the environment asks for, by the size that the card leaves to the family', async () => {
    const world = worldWith({ ...plain, 'ale-win-server-gpu': GPU_IMAGE });
    await plan(world, { snapshot: 'gpu-free', image: 'ale-win-server-gpu', knobs: { gpu: 'nvidia-l4' } });
    expect(await world.unit(UNIT)).toMatchObject({ vCpus: 4, seat: null });
  });

  it('take a licensed image with seats, and count each unit against them', async () => {
    const licensed = { ...GPU_IMAGE, seats: 3 };
    const world = worldWith({ ...plain, 'ale-win-server-gpu-license': licensed });
    await plan(world, { ...GPU, snapshot: 'gpu-license', image: 'ale-win-server-gpu-license' });
    expect((await world.unit(UNIT)).seat).toEqual({ name: 'aws ale-win-server-gpu-license', limit: 3 });
  });

  it('start such a sweep through the API', async () => {
    const world = worldWith({ ...plain, 'ale-win-server-gpu': GPU_IMAGE });
    await publishBoth(world, { vm: { snapshot: GPU.snapshot, ...GPU.vm } });
    const knobs = { region: 'us-east-1', zones: ['us-east-1a'] };
    const body = { ...startBody({ snapshots: routed({ ...GPU, knobs }) }), dryRun: true };
    expect(await call(world, 'startSweep', { body })).toMatchObject({ dryRun: true, plannedUnits: 2 });
  });
});
