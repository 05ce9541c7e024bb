import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  adoptedRevision,
  adoptionProblems,
  imageName,
  imageTags,
  machineTags,
  settingsEntry,
  type SourceImage,
} from '#core/image-adoption';
import {
  adoptionUserData,
  deriveScript,
  readScan,
  scanScript,
  sealScript,
  wipeScript,
} from '#core/image-adoption-scripts';
import { LOCAL_FILE_SYSTEMS, REFERENCE_NAMES } from '#core/reference-material';

const image: SourceImage = {
  imageId: 'ami-0123456789abcdef0',
  name: 'ubuntu',
  ownerId: '099720109477',
  state: 'available',
  architecture: 'x86_64',
  isWindows: false,
  rootDeviceType: 'ebs',
  rootDevice: '/dev/sda1',
  volumes: [
    { device: '/dev/sda1', sizeGiB: 40 },
    { device: '/dev/sdf', sizeGiB: 200 },
  ],
  productCodes: [],
};
const wish = { imageId: image.imageId, family: 'ale-ubuntu22', removeReferences: false };
const sha256 = 'ab'.repeat(32);
const END = { minutes: 60, endsAt: '2026-01-01T01:00:00.000Z', region: 'eu-west-1' };
const FIND_REFERENCES = path.resolve(import.meta.dirname, '../../../images/ubuntu-desktop/find-references.sh');

describe('an image to be adopted', () => {
  it('passes when nothing is wrong with it', () => {
    expect(adoptionProblems(image, wish)).toEqual([]);
    expect(adoptionProblems({ ...image, isWindows: true }, { ...wish, family: 'ale-win-server' })).toEqual([]);
  });

  it.each([
    ['a state', { state: 'pending' }, wish],
    ['another processor', { architecture: 'arm64' }, wish],
    ['no EBS', { rootDeviceType: 'instance-store' }, wish],
    ['no volume', { volumes: [] }, wish],
    ['a product code', { productCodes: ['abc'] }, wish],
    ['an unknown family', {}, { ...wish, family: 'ours' }],
    ['a family of the other system', {}, { ...wish, family: 'ale-win10' }],
  ])('is refused for %s, once', (_what, changes, asked) => {
    expect(adoptionProblems({ ...image, ...changes }, asked)).toHaveLength(1);
  });

  it('has machines that no reaper takes for sandboxes, with an end of their own', () => {
    const tags = machineTags({
      adoptionId: '0a1b2c3d',
      phase: 'scan',
      nowIso: '2026-01-01T00:00:00.000Z',
      tags: { team: 'evals' },
    });
    expect(tags).toEqual({
      team: 'evals',
      Name: 'examhall scan 0a1b2c3d',
      'examhall:adoption': '0a1b2c3d',
      'examhall:expires-at': '2026-01-01T01:00:00.000Z',
    });
  });

  it('becomes an image that says what it was made from, and an entry for the settings', () => {
    const revision = adoptedRevision(image.imageId, sha256);
    expect(imageTags(image, { family: 'ale-ubuntu22', revision, tags: {} })).toEqual({
      'examhall:image': 'ale-ubuntu22',
      'examhall:image-revision': 'adopted-ami-0123456789abcdef0-abababababab',
      'examhall:source-image': image.imageId,
      'examhall:source-owner': image.ownerId,
    });
    expect(imageName('ale-ubuntu22', revision, '0a1b2c3d')).toMatch(/^[A-Za-z0-9()[\] ./\-'@_]{3,128}$/u);
    expect(settingsEntry(image, { imageId: 'ami-1', family: 'ale-ubuntu22', revision })).toEqual({
      'ale-ubuntu22': {
        ...{ imageId: 'ami-1', os: 'linux', revision, kind: 'prepared', rootDevice: '/dev/sda1' },
        ...{ volumeGiB: 40, seats: null },
      },
    });
  });
});

describe('the scripts of an adoption', () => {
  it.each([scanScript('linux'), wipeScript('linux'), sealScript('linux'), deriveScript('linux', archive('x'))])(
    'are bash that parses',
    (script) => {
      const { status, stderr } = spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    },
  );

  it('take no archive that could say more than its address', () => {
    for (const url of [`https://x/'; reboot #`, 'https://x/ y', 'ftp://x/', 'https://x/"', 'https://x/\n'])
      for (const os of ['linux', 'windows'] as const)
        expect(() => deriveScript(os, { url, sha256 })).toThrow(RangeError);
    expect(() => deriveScript('linux', { url: 'https://x/', sha256: 'short' })).toThrow(RangeError);
    const signed = 'https://b.s3.eu-west-1.amazonaws.com/boot/a.tar.gz?X-Amz-Signature=0f&X-Amz-Date=2026%2F';
    for (const os of ['linux', 'windows'] as const) expect(deriveScript(os, { url: signed, sha256 })).toContain(signed);
  });

  it('end the machine by themselves, and take no value that could say more', () => {
    expect(adoptionUserData('linux', END)).toContain('shutdown -h +60');
    expect(() => adoptionUserData('linux', { ...END, region: `x'; reboot` })).toThrow(RangeError);
    expect(() => adoptionUserData('windows', { ...END, endsAt: `2026-01-01'; reboot` })).toThrow(RangeError);
  });

  it('say that end again at every boot, by the clock, on Windows too', () => {
    const windows = adoptionUserData('windows', END);
    expect(windows).toContain(`Parse('${END.endsAt}')`);
    expect(windows).toMatch(/<\/powershell>\r\n<persist>true<\/persist>\r\n$/u);
    const parts = adoptionUserData('linux', END).split('--examhall');
    expect(parts.map((part) => /Content-Type: (\S+);/u.exec(part)?.[1])).toEqual([
      'multipart/mixed',
      'text/cloud-boothook',
      'text/x-shellscript',
      undefined,
    ]);
  });

  it('set a timer at every boot that lies on no disk, however late the boot is', () => {
    for (const [minutes, left] of [
      [60, 60 * 60],
      [-60, 60],
    ] as const) {
      const { calls, timer, ran, endsAt } = bootOf(minutes);
      expect(calls).toEqual(['daemon-reload', 'start --no-block examhall-adoption-end.timer']);
      expect(timer).toContain(`OnCalendar=${endsAt.slice(0, 19).replace('T', ' ')} UTC\n`);
      const seconds = Number(/^OnActiveSec=(\d+)s$/mu.exec(timer)?.[1]);
      expect(seconds).toBeLessThanOrEqual(left);
      expect(seconds).toBeGreaterThanOrEqual(Math.max(60, left - Math.ceil(ran / 1000) - 1));
    }
  });

  it('are read as not done when they were cut off', () => {
    expect(readScan('FOUND /a b\r\nUNSEEN nvme1n1 (ext4, not mounted)\r\nDONE\r\n')).toEqual({
      isDone: true,
      found: ['/a b'],
      unseen: ['nvme1n1 (ext4, not mounted)'],
    });
    expect(readScan('FOUND /a')).toMatchObject({ isDone: false });
    expect(readScan('')).toEqual({ isDone: false, found: [], unseen: [] });
  });
});

/** What the boot hook of a machine does whose time ends in so many minutes, over false folders and a false systemctl. */
function bootOf(minutes: number) {
  const folder = mkdtempSync(path.join(tmpdir(), 'examhall-end-'));
  try {
    const from = Date.now();
    const endsAt = new Date(from + minutes * 60_000).toISOString();
    const hook = adoptionUserData('linux', { ...END, endsAt }).split('--examhall')[1] ?? '';
    const script = hook.slice(hook.indexOf('#!'));
    expect(script.match(/\/(?:etc|run|var|lib|opt)\S*/gu)?.every((place) => place.startsWith('/run/'))).toBe(true);
    writeFileSync(path.join(folder, 'systemctl'), `#!/bin/sh\necho "$@" >>'${folder}/calls'\n`, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}`, TZ: 'Asia/Tokyo' };
    const input = `set -eu\n${script.replaceAll('/run/systemd/system', folder)}`;
    execFileSync('bash', ['-s'], { input, env, encoding: 'utf8' });
    const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');
    expect(read('examhall-adoption-end.service')).toContain('ExecStart=/bin/systemctl --force poweroff');
    const calls = read('calls').trim().split('\n');
    return { calls, timer: read('examhall-adoption-end.timer'), ran: Date.now() - from, endsAt };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function archive(name: string) {
  return { url: `https://bucket.example/boot/${name}`, sha256 };
}

/** The scripts, really run over a folder that stands for a machine's disks. */
describe('the scan of a disk', () => {
  let folder = '';
  let disk = '';
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'examhall-scan-'));
    disk = path.join(folder, 'disk');
    mkdirSync(path.join(folder, 'bin'));
    mkdirSync(disk);
    program('findmnt', `echo '${disk}'`);
    program('lsblk', `printf 'nvme0n1  \\nnvme0n1p1 ext4 /\\nnvme0n1p2 swap \\n'`);
    program('fstrim', 'exit 0');
    program('sync', 'exit 0');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  function program(name: string, text: string): void {
    const file = path.join(folder, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
  }

  function file(name: string): string {
    const place = path.join(disk, name);
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, 'the answers');
    return place;
  }

  const run = (script: string) => {
    const env = { PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}` };
    return readScan(execFileSync('bash', ['-s'], { input: script, env, encoding: 'utf8' }));
  };

  it('finds archives of references in any case and folders of task data, and nothing else', () => {
    file('home/user/notes/reference.txt');
    file('usr/share/doc/reference/index.html');
    const found = [file('media/user/data/agenthle/a/REFERENCE.7z'), file('opt/x y/reference.7z.001')];
    file('media/data/agenthle/dom/task/base/reference/key.xlsx');
    found.push(path.join(disk, 'media/data/agenthle/dom/task/base/reference'));
    file('tmp/line\nbreak/reference.zip');
    found.push(path.join(disk, 'tmp/line?break/reference.zip'));
    expect(run(scanScript('linux'))).toEqual({ isDone: true, found: found.toSorted(), unseen: [] });
  });

  it.each(['', '.001', '.part1.rar', '.gz'])(
    'finds what the look of the image itself finds, with %j after a name',
    (end) => {
      for (const name of REFERENCE_NAMES)
        for (const root of ['', 'tmp/', 'var/tmp/', 'usr/lib/', 'opt/examhall/', 'home/user/node_modules/a/', 'a b/'])
          file(`${root}${name.replace('*', '').toUpperCase()}${end}`);
      file('srv/agenthle/d/t/reference/x');
      const { found } = run(scanScript('linux'));
      const env = { PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}` };
      const own = execFileSync('bash', [FIND_REFERENCES], { env, encoding: 'utf8' });
      expect(own.trim().split('\n')).toEqual(found);
      expect(found).toHaveLength(REFERENCE_NAMES.length * 7 + 1);
    },
  );

  it('looks into the same file systems as the look of the image itself, mounted at any name', () => {
    for (const text of [scanScript('linux'), readFileSync(FIND_REFERENCES, 'utf8')])
      expect(text).toContain(`findmnt -rn -o TARGET -t ${LOCAL_FILE_SYSTEMS.join(',')})`);
    file('a disk/reference.7z');
    program('findmnt', `printf '%s\\\\x20disk\n' '${disk}/a'`);
    expect(run(scanScript('linux')).found).toEqual([path.join(disk, 'a disk/reference.7z')]);
  });

  it('passes a disk without any, and refuses one that it cannot look into', () => {
    file('etc/hosts');
    expect(run(scanScript('linux'))).toEqual({ isDone: true, found: [], unseen: [] });
    program('lsblk', `printf 'nvme0n1p1 ext4 /\\nnvme1n1 xfs \\nsda1 crypto_LUKS \\n'`);
    expect(run(scanScript('linux')).unseen).toEqual(['nvme1n1 (xfs, not mounted)', 'sda1 (crypto_LUKS, not mounted)']);
  });

  it('says that nothing was seen where no file system is known', () => {
    program('findmnt', 'exit 1');
    const { stdout, status } = spawnSync('bash', ['-s'], {
      input: scanScript('linux'),
      env: { PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}` },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(readScan(stdout)).toMatchObject({ isDone: false, unseen: [expect.stringContaining('every volume')] });
  });

  it('finds nothing any more once what it found was wiped, and everything else is as it was', () => {
    const kept = file('home/user/keep.txt');
    const gone = [
      file('data/agenthle/t/reference/sub/key.txt'),
      file('a b/reference.7z'),
      file(`it's/reference.tar.gz`),
    ];
    expect(run(wipeScript('linux')).isDone).toBe(true);
    expect(run(scanScript('linux')).found).toEqual([]);
    expect(gone.map((place) => existsSync(place))).toEqual([false, false, false]);
    expect(existsSync(kept)).toBe(true);
  });
});
