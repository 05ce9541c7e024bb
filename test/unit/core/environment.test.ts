import { describe, expect, it } from 'vitest';
import { type EnvironmentReading, readEnvironment, refuseUnavailableProviders, routeFor } from '#core/environment';
import { formatProblem, type LocatedProblem, plainSource } from '#core/located';

function read(value: unknown): EnvironmentReading {
  return readEnvironment(plainSource('env.yaml', value));
}

function texts(problems: readonly LocatedProblem[]): string[] {
  return problems.map((problem) => formatProblem(problem).slice('env.yaml:1:1: '.length));
}

const local = { provider: 'process', image: 'ale-ubuntu22' };
const where = { project: 'p', service_account_key: 'k', zones: ['z-a'] };

describe('a per-snapshot environment', () => {
  it('has the defaults of upstream', () => {
    expect(read({ snapshots: { tag: local } })).toEqual({
      environment: {
        file: 'env.yaml',
        shape: 'snapshots',
        taskDataSource: 'baked_in_sandbox',
        outputPath: null,
        gcsServiceAccountKey: null,
        placesAt: {
          taskDataSource: { file: 'env.yaml', line: 1, column: 1 },
          outputPath: { file: 'env.yaml', line: 1, column: 1 },
        },
        snapshots: { tag: { ...local, resolution: null, knobs: {}, at: { file: 'env.yaml', line: 1, column: 1 } } },
        single: null,
      },
      problems: [],
      warnings: [],
    });
  });

  it('shares the settings of a provider between its snapshots, the last one winning', () => {
    const snapshots = {
      one: { provider: 'gcloud', image: 'ale-ubuntu22', gcloud: { ...where, network: 'old' } },
      two: { provider: 'gcloud', image: 'ale-win10', gcloud: { network: 'new', zones: ['z-b'], gpu: 'nvidia-l4-vws' } },
    };
    const { environment, problems, warnings } = read({ snapshots });
    expect(problems).toEqual([]);
    expect(environment.snapshots['one']?.knobs).toEqual({ ...where, network: 'new' });
    expect(environment.snapshots['two']?.knobs).toEqual({
      ...where,
      network: 'new',
      zones: ['z-b'],
      gpu: 'nvidia-l4-vws',
    });
    expect(texts(warnings)).toEqual([
      '"network" differs between the gcloud snapshots; the last one wins for all; got "new"; allowed: the same value in each block; write the same value everywhere',
    ]);
  });

  it('routes each tag, and no tag it does not have', () => {
    const { environment } = read({ snapshots: { tag: local } });
    expect(routeFor(environment, 'tag')?.provider).toBe('process');
    expect(routeFor(environment, 'other')).toBeNull();
    expect(routeFor(environment, 'constructor')).toBeNull();
  });

  it.each([
    [[1024, 768], '1024x768'],
    ['1920x1080', '1920x1080'],
    ['1920 X 1080', '1920x1080'],
    [null, null],
  ])('reads resolution %j', (resolution, expected) => {
    expect(read({ snapshots: { tag: { ...local, resolution } } }).environment.snapshots['tag']?.resolution).toBe(
      expected,
    );
  });

  it.each([
    'baked_in_sandbox',
    'gs://b/v1.1',
    'hf://d',
    's3://b',
    'oss://b',
    'local:dir',
    'mounted:/dir',
    ' local:dir ',
  ])('takes data from %j', (source) => {
    expect(read({ snapshots: { tag: local }, task_data_source: source })).toMatchObject({
      problems: [],
      environment: { taskDataSource: source.trim() },
    });
  });

  it.each([
    ['local', 'local'],
    ['s3://b', 's3://b'],
    ['', null],
    [null, null],
  ])('puts output to %j', (path, expected) => {
    expect(read({ snapshots: { tag: local }, output_path: path })).toMatchObject({
      problems: [],
      environment: { outputPath: expected },
    });
  });

  it('warns about what does not apply', () => {
    const tag = { ...local, docker: { cpus: 1 }, process: { fast: true } };
    expect(texts(read({ snapshots: { tag }, provider: 'process', providers: {} }).warnings)).toEqual([
      'the "docker" block does not apply and is ignored; got a mapping with key cpus; allowed: a "process" block; remove it',
      '"fast" is not a setting of process and is ignored; got true; allowed: none (process has no settings); remove it',
      expect.stringMatching(/^"providers" is ignored; got an empty mapping; /),
      expect.stringMatching(/^"provider" is ignored; got "process"; /),
    ]);
  });
});

const images =
  'ale-ubuntu22, ale-ubuntu22-docker, ale-kasm, ale-win10, ale-win-server, ale-ubuntu22-v1-1, ale-ubuntu22-docker-v1-1, ale-win10-v1-1, ale-ubuntu22-gpu, ale-win-server-gpu, ale-win-server-license, ale-win-server-gpu-license';
const providers = 'gcloud, aws, aliyun, docker, qemu, static, process, desktop';
const badSnapshots: readonly (readonly [unknown, readonly string[]])[] = [
  [
    null,
    [
      'snapshot "tag" is not a mapping; got null; allowed: a mapping of keys to values; write snapshot "tag" as "key: value" lines',
    ],
  ],
  [
    {},
    [
      `missing required key "snapshots.tag.provider"; got nothing; allowed: ${providers}; name the provider that makes the sandbox`,
      `missing required key "snapshots.tag.image"; got nothing; allowed: ${images}; name the image family that the sandbox is made from`,
    ],
  ],
  [{ ...local, provider: 'gclod' }, [`unknown provider; got "gclod"; allowed: ${providers}; choose one of them`]],
  [
    { ...local, image: 'ami-01' },
    [`unknown image family; got "ami-01"; allowed: ${images}; choose one of them (not the id of a cloud image)`],
  ],
  [
    { ...local, zone: 1 },
    [`unknown key in snapshot "tag"; got "zone"; allowed: provider, image, resolution, ${providers}; remove it`],
  ],
  [
    { ...local, resolution: '1024' },
    [
      'the resolution is not a width and a height; got "1024"; allowed: [width, height] or "WIDTHxHEIGHT" in pixels, each from 1 to 16384; write it as [1024, 768]',
    ],
  ],
  [
    { ...local, process: 3 },
    [
      'the "process" block is not a mapping; got 3; allowed: a mapping of keys to values; write the "process" block as "key: value" lines',
    ],
  ],
  [
    { provider: 'gcloud', image: 'ale-win10', gcloud: { project: '', zones: [] } },
    [
      'a list is empty; got an empty list; allowed: at least one text; write it as [first, second]',
      'required key "snapshots.tag.gcloud.project" has no value; got ""; allowed: a value; add it: gcloud cannot start a sandbox without it',
      'missing required key "snapshots.tag.gcloud.service_account_key"; got nothing; allowed: a value; add it: gcloud cannot start a sandbox without it',
    ],
  ],
  [
    {
      provider: 'aws',
      image: 'ale-win10',
      aws: { region: 'r', zones: 'z', tenancy: 'host', associate_public_ip: 'no' },
    },
    [
      '"snapshots.tag.aws.zones" is not a list of texts; got "z"; allowed: a list of non-empty texts; write it as [first, second]',
      '"snapshots.tag.aws.tenancy" is not one of the allowed values; got "host"; allowed: default, dedicated; choose one of them, or remove the key',
      '"snapshots.tag.aws.associate_public_ip" is not true or false; got "no"; allowed: true, false; write true or false, or remove the key for false',
    ],
  ],
  [
    { provider: 'qemu', image: 'ale-win10', qemu: { vcpus: -1, memory_gb: 'x' } },
    [
      '"snapshots.tag.qemu.vcpus" is not a whole number 0 or more; got -1; allowed: a whole number 0 or more; write plain digits',
      '"snapshots.tag.qemu.memory_gb" is not a number above 0; got "x"; allowed: a number above 0; write plain digits (YAML 1.1 reads 1e3 as text)',
      'missing required key "snapshots.tag.qemu.disk_source"; got nothing; allowed: a value; add it: qemu cannot start a sandbox without it',
    ],
  ],
];

describe('a bad snapshot', () => {
  it.each(badSnapshots)('%j', (tag, messages) => {
    expect(texts(read({ snapshots: { tag } }).problems)).toEqual(messages);
  });
});

describe('a bad environment', () => {
  it.each([
    [
      {},
      'the environment names no provider; got an empty mapping; allowed: a "snapshots" mapping (a provider for each snapshot) or a "provider" (one for all); add one of the two keys',
    ],
    [
      { snapshots: {} },
      '"snapshots" is not a non-empty mapping; got an empty mapping; allowed: a mapping from snapshot tags to {provider, image}; add an entry for each snapshot tag that your task cards ask for',
    ],
    [
      { snapshots: { tag: local }, outputpath: 'local' },
      'unknown key in the environment file; got "outputpath"; allowed: snapshots, provider, task_data_source, output_path, gcs_sa_key; remove it, or write "output_path" if you meant that',
    ],
    [
      { snapshots: { tag: local }, output_path: '/tmp' },
      '"output_path" is not a place that is known; got "/tmp"; allowed: "local", or a text that starts with gs://, s3://, oss://, or null; write one of these, or remove the key for the default',
    ],
    [
      { snapshots: { tag: local }, task_data_source: 5 },
      '"task_data_source" is not a place that is known; got 5; allowed: "baked_in_sandbox", or a text that starts with gs://, hf://, s3://, oss://, local:, mounted:; write one of these, or remove the key for the default',
    ],
    [
      { provider: 'static' },
      'missing required key "endpoint"; got nothing; allowed: a value; add it: static cannot start a sandbox without it',
    ],
    [
      { provider: 'static', endpoint: 'h', zones: [] },
      'unknown key in the environment file; got "zones"; allowed: snapshots, provider, task_data_source, output_path, gcs_sa_key, endpoint, vm_id, cleanup_on_release, cleanup_script, image, resolution, os; remove it',
    ],
  ])('%j', (value, message) => {
    expect(texts(read(value).problems)).toEqual([message]);
  });

  it('has docker snapshots that differ', () => {
    const docker = (cpus: number): object => ({
      provider: 'docker',
      image: 'ale-kasm',
      docker: { cpus, memory: '4g' },
    });
    expect(read({ snapshots: { a: docker(2), b: docker(2) } }).problems).toEqual([]);
    expect(texts(read({ snapshots: { a: docker(2), b: docker(4) } }).problems)).toEqual([
      'docker snapshots "a" and "b" differ; got a mapping with keys image, cpus, memory; allowed: one image and one docker block for all docker snapshots; make them equal',
    ]);
  });
});

describe('a single-provider environment', () => {
  it('serves every snapshot', () => {
    const { environment, problems } = read({
      provider: 'static',
      endpoint: 'http://h:5000',
      os: 'windows',
      cleanup_script: 'x.sh',
    });
    expect(problems).toEqual([]);
    expect(environment.static).toEqual({
      endpoint: 'http://h:5000',
      image: 'ale-win10',
      vmId: 'static',
      cleanupOnRelease: false,
      cleanupScript: 'x.sh',
    });
    expect(routeFor(environment, 'anything')).toMatchObject({ provider: 'static', image: 'ale-win10' });
  });

  it('may be one of ours', () => {
    expect(read({ provider: 'process' })).toMatchObject({
      problems: [],
      environment: { shape: 'provider', single: { provider: 'process', image: 'ale-ubuntu22' } },
    });
  });
});

describe('providers that are not available', () => {
  it('are refused by name and place', () => {
    const { environment } = read({ snapshots: { a: local, b: { provider: 'docker', image: 'ale-kasm' } } });
    expect(refuseUnavailableProviders(environment, ['process', 'docker'])).toEqual([]);
    const [problem, ...others] = refuseUnavailableProviders(environment, ['process', 'desktop']);
    expect(others).toEqual([]);
    expect(problem?.path).toEqual(['snapshots', 'b', 'provider']);
    expect(texts(problem === undefined ? [] : [problem])).toEqual([
      'provider "docker" of snapshot "b" is not available here; got "docker"; allowed: process, desktop; choose one of these providers, or leave out the snapshot and the tasks that ask for it',
    ]);
  });

  it('are refused when they serve everything', () => {
    const { environment } = read({ provider: 'static', endpoint: 'h' });
    expect(texts(refuseUnavailableProviders(environment, ['process']))).toEqual([
      'provider "static" is not available here; got "static"; allowed: process; choose one of these providers, or leave out the snapshot and the tasks that ask for it',
    ]);
  });
});
