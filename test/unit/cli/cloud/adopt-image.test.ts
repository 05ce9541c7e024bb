import { describe, expect, it } from 'vitest';
import type { SourceImage } from '#core/image-adoption';
import type { SandboxSettings } from '#core/sandbox-settings';
import { adoptImage, type Adoption, type AdoptionTools } from '#cli/cloud/adopt-image';
import type { AdoptionCloud, AdoptionMachine } from '#cli/cloud/adoption-cloud';
import type { MachineShell, ScriptEnd } from '#cli/cloud/machine-shell';

const source: SourceImage = {
  imageId: 'ami-0123456789abcdef0',
  name: 'theirs',
  ownerId: '123456789012',
  state: 'available',
  architecture: 'x86_64',
  isWindows: false,
  rootDeviceType: 'ebs',
  rootDevice: '/dev/sda1',
  volumes: [{ device: '/dev/sda1', sizeGiB: 40 }],
  productCodes: [],
};

const network = (name: string) => ({
  subnets: [{ id: `subnet-${name}`, zone: 'eu-west-1a' }],
  template: { id: `lt-${name}`, version: '3' },
});
const settings: SandboxSettings = {
  stage: 'prod',
  tags: { team: 'evals' },
  networks: { open: network('open'), sealed: network('sealed') },
  images: {},
  machineTypes: {},
  volumeKeyArn: 'arn:aws:kms:eu-west-1:111122223333:key/1',
  documents: { run: 'run', wait: 'wait' },
};

type Answer = ScriptEnd | Error;
const said = (stdout: string): ScriptEnd => ({ exitCode: 0, stdout, stderr: '' });
const CLEAN = said('DONE\n');

interface Told {
  readonly answers: readonly Answer[];
  readonly online?: Error;
  readonly stubborn?: boolean;
  readonly lost?: ReadonlyMap<string, readonly string[]>;
  readonly sweeping?: Error;
  readonly before?: readonly { readonly instanceId: string; readonly tags: Readonly<Record<string, string>> }[];
}

interface Scripted {
  readonly acts: string[];
  readonly left: Answer[];
  readonly online: Error | undefined;
}

/** Answers with what is left, one for each script. */
function scriptedShell({ acts, left, online }: Scripted): MachineShell {
  return {
    waitOnline: async () => {
      if (online !== undefined) throw online;
    },
    run: async (instanceId) => {
      acts.push(`script on ${instanceId}`);
      const answer = left.shift() ?? new Error('no answer is left');
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

/** A cloud in memory that writes down what is asked of it, in order. */
function tools({ answers, online, stubborn = false, before = [], lost = new Map(), sweeping }: Told) {
  const acts: string[] = [];
  const launched: AdoptionMachine[] = [];
  const held = new Set<string>();
  const images = new Map<string, Readonly<Record<string, string>>>();
  const left = [...answers];
  const cloud: AdoptionCloud = {
    describeImage: async () => source,
    launch: async (machine) => {
      launched.push(machine);
      if (lost.has(machine.clientToken)) throw new Error('the answer is lost');
      const id = `i-${String(launched.length)}`;
      held.add(id);
      acts.push(`launch ${machine.image.imageId} ${machine.subnetId} ${machine.template.id}`);
      return id;
    },
    terminate: async (id) => {
      acts.push(`terminate ${id}`);
      if (stubborn) throw new Error('denied');
      held.delete(id);
      return true;
    },
    machinesTagged: async () => before,
    machinesLaunchedBy: async (token) => lost.get(token) ?? [],
    removeImagesTagged: async (key, beforeIso) => {
      acts.push(`remove images of ${key} before ${beforeIso}`);
      if (sweeping !== undefined) throw sweeping;
      return [];
    },
    createImage: async ({ instanceId, tags }) => {
      const id = `ami-${String(images.size + 1)}`;
      images.set(id, tags);
      acts.push(`image ${id} of ${instanceId}`);
      return id;
    },
    removeImage: async (id) => {
      images.delete(id);
      acts.push(`remove ${id}`);
    },
  };
  return { ...around(cloud, scriptedShell({ acts, left, online })), acts, launched, held, images, left };
}

function around(cloud: AdoptionCloud, shell: MachineShell) {
  const told: string[] = [];
  const stop = new AbortController();
  const made: AdoptionTools = {
    ...{ cloud, shell, signal: stop.signal },
    tell: (line) => told.push(line),
    nowIso: () => '2026-01-01T00:00:00.000Z',
  };
  return { made, told, stop };
}

const adoption = (changes: Partial<Adoption> = {}): Adoption => ({
  imageId: source.imageId,
  family: 'ale-ubuntu22',
  removeReferences: false,
  adoptionId: '0a1b2c3d',
  region: 'eu-west-1',
  settings,
  archive: async () => ({ url: 'https://bucket.example/boot.tar.gz', sha256: 'ab'.repeat(32) }),
  ...changes,
});

const SWEPT = 'remove images of examhall:adoption before 2025-12-31T00:00:00.000Z';
const DERIVED = [said('{"ok":true}'), CLEAN, CLEAN];

describe('adopting an image', () => {
  it('scans it without a route out, derives ours on another machine, and ends both', async () => {
    const { made, acts, held, images, left } = tools({ answers: [CLEAN, ...DERIVED] });
    const adopted = await adoptImage(adoption(), made);
    expect(adopted).toMatchObject({ state: 'adopted', imageId: 'ami-1', removed: [] });
    expect(acts).toEqual([
      SWEPT,
      'launch ami-0123456789abcdef0 subnet-sealed lt-sealed',
      'script on i-1',
      'terminate i-1',
      'launch ami-0123456789abcdef0 subnet-open lt-open',
      ...Array<string>(3).fill('script on i-2'),
      'image ami-1 of i-2',
      'terminate i-2',
    ]);
    expect(held).toEqual(new Set());
    expect(left).toEqual([]);
    expect(images.get('ami-1')).toMatchObject({ 'examhall:image': 'ale-ubuntu22', team: 'evals' });
  });

  it('launches encrypted machines that no reaper knows and that end by themselves', async () => {
    const { made, launched } = tools({ answers: [CLEAN, ...DERIVED] });
    await adoptImage(adoption(), made);
    for (const { tags, userData, volumeKeyArn } of launched) {
      expect(tags['examhall:stage']).toBeUndefined();
      expect(tags['examhall:adoption']).toBe('0a1b2c3d');
      expect(userData).toContain('shutdown -h +');
      expect(volumeKeyArn).toBe(settings.volumeKeyArn);
    }
    expect(new Set(launched.map(({ clientToken }) => clientToken)).size).toBe(2);
  });

  it('refuses one that holds reference.7z, and makes nothing of it', async () => {
    const { made, acts, held, images } = tools({ answers: [said('FOUND /data/reference.7z\nDONE\n')] });
    const refused = await adoptImage(adoption(), made);
    expect(refused).toEqual({ state: 'refused', found: ['/data/reference.7z'], unseen: [] });
    expect([held.size, images.size]).toEqual([0, 0]);
    expect(acts.filter((act) => act.startsWith('launch'))).toHaveLength(1);
  });

  it('refuses one with a volume that it cannot look into, whatever it was told to remove', async () => {
    const { made } = tools({ answers: [said('UNSEEN nvme1n1 (xfs, not mounted)\nDONE\n')] });
    expect(await adoptImage(adoption({ removeReferences: true }), made)).toMatchObject({ state: 'refused' });
  });

  it('wipes when it is told to, looks again, and derives from the wiped image, which it removes', async () => {
    const found = said('FOUND /data/reference.7z\nDONE\n');
    const { made, acts, images } = tools({ answers: [found, CLEAN, CLEAN, ...DERIVED] });
    const adopted = await adoptImage(adoption({ removeReferences: true }), made);
    expect(adopted).toMatchObject({ state: 'adopted', imageId: 'ami-2', removed: ['/data/reference.7z'] });
    expect(acts).toContain('launch ami-1 subnet-open lt-open');
    expect(acts.at(-1)).toBe('remove ami-1');
    expect([...images.keys()]).toEqual(['ami-2']);
  });

  it('refuses one whose references survive the wipe', async () => {
    const found = said('FOUND /data/reference.7z\nDONE\n');
    const { made, images } = tools({ answers: [found, CLEAN, found] });
    expect(await adoptImage(adoption({ removeReferences: true }), made)).toMatchObject({ state: 'refused' });
    expect(images.size).toBe(0);
  });

  it.each([
    ['a scan that was cut off', [said('FOUND /x')], 'was not looked through'],
    ['a script that fails', [{ exitCode: 3, stdout: '', stderr: 'no space' }], 'exit code 3: no space'],
    ['a machine that is lost', [new Error('gone')], 'gone'],
    ['references that come back with the derivation', [CLEAN, said('{}'), said('FOUND /r\nDONE\n')], 'there is /r'],
    ['a seal that fails', [CLEAN, said('{}'), CLEAN, { exitCode: 1, stdout: '', stderr: '' }], 'the seal'],
  ] as const)('ends its machines and makes no image after %s', async (_what, answers, message) => {
    const { made, held, images } = tools({ answers });
    await expect(adoptImage(adoption(), made)).rejects.toThrow(message);
    expect([held.size, images.size]).toEqual([0, 0]);
  });

  it('ends a machine whose agent never comes', async () => {
    const { made, held, launched } = tools({ answers: [], online: new Error('never online') });
    await expect(adoptImage(adoption(), made)).rejects.toThrow('never online');
    expect([launched.length, held.size]).toEqual([1, 0]);
  });

  it('begins nothing more once it is interrupted, and ends what it began', async () => {
    const { made, held, stop, acts } = tools({ answers: [CLEAN, ...DERIVED] });
    const run = made.shell.run.bind(made.shell);
    const interrupted = {
      ...made,
      shell: {
        ...made.shell,
        run: async (...args: Parameters<typeof run>) => (stop.abort(new Error('SIGINT')), await run(...args)),
      },
    };
    await expect(adoptImage(adoption(), interrupted)).rejects.toThrow('SIGINT');
    expect(held.size).toBe(0);
    expect(acts.filter((act) => act.startsWith('launch'))).toHaveLength(1);
  });

  it('says how to end a machine that it could not end', async () => {
    const { made, told } = tools({ answers: [said('FOUND /x\nDONE\n')], stubborn: true });
    await adoptImage(adoption(), made);
    expect(told.join('\n')).toContain('aws ec2 terminate-instances --instance-ids i-1');
  });

  it('ends what killed adoptions left, once their time is over, and nobody else’s', async () => {
    const tagged = (instanceId: string, endsAt: string) => ({ instanceId, tags: { 'examhall:expires-at': endsAt } });
    const before = [
      tagged('i-old', '2025-12-31T23:00:00.000Z'),
      tagged('i-busy', '2026-01-01T00:30:00.000Z'),
      tagged('i-odd', 'soon'),
    ];
    const { made, acts } = tools({ answers: [said('FOUND /x\nDONE\n')], before });
    await adoptImage(adoption(), made);
    expect(acts.filter((act) => act.startsWith('terminate'))).toEqual(['terminate i-old', 'terminate i-1']);
  });

  it('ends what a launch made whose answer was lost', async () => {
    const { made, acts } = tools({ answers: [], lost: new Map([['examhall-0a1b2c3d-scan', ['i-lost']]]) });
    await expect(adoptImage(adoption(), made)).rejects.toThrow('the answer is lost');
    expect(acts).toEqual([SWEPT, 'terminate i-lost']);
  });

  it('goes on, and says so, where images of killed adoptions cannot be removed', async () => {
    const { made, told } = tools({ answers: [CLEAN, ...DERIVED], sweeping: new Error('not authorized') });
    expect(await adoptImage(adoption(), made)).toMatchObject({ state: 'adopted' });
    expect(told[0]).toContain('was not removed: not authorized');
  });

  it('starts nothing for an image that cannot be adopted, or a stage without a sealed network', async () => {
    const wrong = tools({ answers: [] });
    await expect(adoptImage(adoption({ family: 'ours' }), wrong.made)).rejects.toThrow('no image family');
    const open = { ...settings, networks: { open: network('open') } };
    await expect(adoptImage(adoption({ settings: open }), wrong.made)).rejects.toThrow('profile sealed');
    expect(wrong.launched).toEqual([]);
  });
});
