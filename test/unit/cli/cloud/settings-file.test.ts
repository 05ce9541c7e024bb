import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptionText, noteInFile } from '#cli/cloud/adoption-text';
import { checkSettingsFile, withImage, writeImage, type ImageWish } from '#cli/cloud/settings-file';
import { imagesCommand } from '#cli/commands/images';
import { parseSettings } from '../../../../infra/config/load-settings.ts';

const IMAGE = {
  imageId: 'ami-0123456789abcdef0',
  os: 'linux',
  revision: 'adopted-1',
  kind: 'prepared',
  rootDevice: '/dev/sda1',
  volumeGiB: 40,
  seats: null,
};
const OTHER = { ...IMAGE, imageId: 'ami-0fedcba9876543210', seats: 3 };
const stages = fileURLToPath(new URL('../../../../infra/config/stages/', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-settings-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function fileOf(text: string, more: Partial<ImageWish> = {}): Promise<ImageWish> {
  const file = path.join(folder, 'prod.json');
  await writeFile(file, text);
  return { file, stage: 'prod', family: 'ale-ubuntu22', replace: false, keepGpu: false, ...more };
}

const withOther = JSON.stringify({ stage: 'prod', sandboxes: { images: { 'ale-ubuntu22': OTHER } } });

describe('an image in the settings file', () => {
  it.each(['default', 'example'])(
    'leaves all else of the stage %s to the letter, and can be deployed',
    async (stage) => {
      const text = await readFile(path.join(stages, `${stage}.json`), 'utf8');
      const changed = withImage(text, 'ale-ubuntu22', IMAGE);
      const lines = new Set(changed.split('\n').map((line) => line.replace(/,$/u, '')));
      for (const line of text.split('\n')) expect(lines).toContain(line.replace(/,$/u, ''));
      expect(parseSettings(JSON.parse(changed), stage).sandboxes.images['ale-ubuntu22']).toEqual(IMAGE);
    },
  );

  it.each([
    ['no sandboxes', '{\n  "stage": "prod",\n  "tags": {}\n}\n'],
    ['no images', '{\n  "stage": "prod",\n  "sandboxes": { "staticHosts": [] }\n}\n'],
    ['empty images', '{\n    "sandboxes": {\n        "images": {}\n    },\n    "stage": "prod"\n}'],
    ['one line', '{"stage":"prod","sandboxes":{"images":{"ale-win10":{"imageId":"ami-01234567"}}}}'],
    ['tabs', '{\n\t"stage": "prod",\n\t"sandboxes": {\n\t\t"images": {\n\t\t\t"ale-win10": {}\n\t\t}\n\t}\n}\n'],
    ['nothing at all', '{}'],
  ])('is put into a file with %s', (_, text) => {
    const changed = withImage(text, 'ale-ubuntu22', IMAGE);
    expect(JSON.parse(changed)).toMatchObject({ sandboxes: { images: { 'ale-ubuntu22': IMAGE } } });
    const before = JSON.parse(text) as { readonly sandboxes?: { readonly images?: object } };
    expect(JSON.parse(changed)).toMatchObject(before);
  });

  it('is written with the indentation of the file', () => {
    const text = '{\n  "stage": "prod",\n  "sandboxes": {\n    "images": {}\n  }\n}\n';
    expect(withImage(text, 'ale-ubuntu22', { imageId: 'ami-1' })).toBe(
      '{\n  "stage": "prod",\n  "sandboxes": {\n    "images": {\n      "ale-ubuntu22": {\n        "imageId": "ami-1"\n      }\n    }\n  }\n}\n',
    );
  });

  it('changes nothing else of any settings, however they are written', () => {
    const keys = fc.string({ minLength: 1, maxLength: 5 }).filter((key) => !['__proto__', 'sandboxes'].includes(key));
    const others = fc.dictionary(keys, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
    const images = fc.option(fc.dictionary(keys, fc.constant({ imageId: 'x' }), { maxKeys: 2 }), { nil: undefined });
    fc.assert(
      fc.property(others, images, fc.constantFrom(undefined, 1, 2, 4, '\t'), (other, there, indent) => {
        const document = { ...other, ...(there === undefined ? {} : { sandboxes: { a: 1, images: there } }) };
        const changed: unknown = JSON.parse(withImage(JSON.stringify(document, null, indent), 'ale-kasm', IMAGE));
        const sandboxes = { ...(there === undefined ? {} : { a: 1 }), images: { ...there, 'ale-kasm': IMAGE } };
        expect(changed).toEqual(JSON.parse(JSON.stringify({ ...document, sandboxes })));
      }),
      { numRuns: 200 },
    );
  });
});

describe('writing it', () => {
  it('is done at once, keeps the rights of the file, goes through links and leaves nothing beside it', async () => {
    const wish = await fileOf('{\n  "stage": "prod"\n}\n');
    await chmod(wish.file, 0o640);
    const link = path.join(folder, 'link.json');
    await symlink(wish.file, link);
    await writeImage({ ...wish, file: link }, IMAGE);
    expect(JSON.parse(await readFile(wish.file, 'utf8'))).toMatchObject({
      sandboxes: { images: { 'ale-ubuntu22': IMAGE } },
    });
    expect((await stat(wish.file)).mode & 0o777).toBe(0o640);
    expect((await readdir(folder)).toSorted()).toEqual(['link.json', 'prod.json']);
    await writeImage(wish, IMAGE);
  });

  it('refuses to take the place of another image, before anything is started and when it is written', async () => {
    const wish = await fileOf(withOther);
    const refusal = /has another image of family ale-ubuntu22; got "ami-0fedcba9876543210".*--replace/u;
    await expect(checkSettingsFile(wish)).rejects.toThrow(refusal);
    await expect(writeImage(wish, IMAGE)).rejects.toThrow(refusal);
    expect(await readFile(wish.file, 'utf8')).toBe(withOther);
  });

  it.each([
    ['another image, whose seats are of a licence', IMAGE, false, { kept: { seats: 3 }, dropped: { gpu: true } }],
    ['another image that is said to have the driver', IMAGE, true, { kept: { seats: 3, gpu: true }, dropped: {} }],
    ['the same image', OTHER, false, { kept: { seats: 3, gpu: true }, dropped: {} }],
  ])('keeps what is still true of %s', async (_, image, keepGpu, takenOver) => {
    const before = { ...OTHER, gpu: true };
    const text = JSON.stringify({ stage: 'prod', sandboxes: { images: { 'ale-ubuntu22': before } } });
    const wish = await fileOf(text, { replace: true, keepGpu });
    await checkSettingsFile(wish);
    expect(await writeImage(wish, { ...image, seats: null })).toEqual(takenOver);
    expect(JSON.parse(await readFile(wish.file, 'utf8'))).toEqual({
      stage: 'prod',
      sandboxes: { images: { 'ale-ubuntu22': { ...image, ...takenOver.kept } } },
    });
  });

  it.each([
    ['of another stage', '{"stage":"test"}', /is of another stage; got "test"/u],
    ['that is no JSON', 'stage: prod\n', /is no JSON/u],
    ['with a key twice', '{"stage":"prod","tags":{},"tags":{}}', /holds no settings/u],
    ['whose images are a list', '{"stage":"prod","sandboxes":{"images":[]}}', /is no object/u],
  ])('refuses a file %s', async (_, text, message) => {
    await expect(checkSettingsFile(await fileOf(text))).rejects.toThrow(message);
  });

  it('refuses a file that is not there', async () => {
    const wish = { ...(await fileOf('{}')), file: path.join(folder, 'absent.json') };
    await expect(checkSettingsFile(wish)).rejects.toThrow(/cannot be read.*ENOENT/u);
  });
});

describe('an option that has nothing to go with', () => {
  it.each([
    [['--replace'], '--replace without --settings'],
    [['--settings', 'prod.json', '--keep-gpu'], '--keep-gpu without --replace'],
  ])('is refused before anything is asked: %o', async (options, message) => {
    const adopt = ['adopt', IMAGE.imageId, '--family', 'ale-ubuntu22', '--stage', 'prod', ...options];
    await expect(imagesCommand().parseAsync(adopt, { from: 'user' })).rejects.toThrow(message);
  });
});

describe('what adopting tells', () => {
  const settings = { 'ale-ubuntu22': IMAGE };
  const adopted = { state: 'adopted', imageId: IMAGE.imageId, revision: 'adopted-1', removed: [], settings } as const;

  it('is the entry to copy, without a file', () => {
    expect(adoptionText(adopted, null)).toContain('add this to sandboxes.images');
    expect(adoptionText(adopted, null)).toContain('"volumeGiB": 40');
  });

  it('is what to do next once the file is written', async () => {
    const wish = await fileOf('{"stage":"prod"}');
    const told = await noteInFile(wish, adopted);
    expect(told).toEqual({ file: wish.file, isWritten: true, problem: null, kept: {}, dropped: {} });
    expect(adoptionText(adopted, told)).toContain(`npx cdk deploy --all -c settings=${wish.file}`);
    expect(adoptionText(adopted, told)).not.toContain('kept');
  });

  it('is what the image was given of the one before, and what it was not', async () => {
    const before = { ...OTHER, gpu: true };
    const text = JSON.stringify({ stage: 'prod', sandboxes: { images: { 'ale-ubuntu22': before } } });
    const told = adoptionText(adopted, await noteInFile(await fileOf(text, { replace: true }), adopted));
    expect(told).toContain('  kept of the image before: {"seats":3}');
    expect(told).toContain('  not kept of the image before: {"gpu":true}; if this one has the driver too');
  });

  it('is the entry all the same when the file changed meanwhile, and why it was left as it is', async () => {
    const told = await noteInFile(await fileOf(withOther), adopted);
    expect(told).toMatchObject({ isWritten: false, problem: expect.stringContaining('another image') as unknown });
    expect(adoptionText(adopted, told)).toMatch(/was not changed: .*another image[^]*add this to sandboxes\.images/u);
  });

  it('writes nothing for an image that was refused', async () => {
    const wish = await fileOf('{"stage":"prod"}');
    expect(await noteInFile(wish, { state: 'refused', found: ['/a'], unseen: [] })).toBeNull();
    expect(await readFile(wish.file, 'utf8')).toBe('{"stage":"prod"}');
  });
});
