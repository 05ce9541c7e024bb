import { plainText } from '#cli/remote/plain-text';
import type { Adopted } from './adopt-image.ts';
import { writeImage, type ImageWish, type TakenOver } from './settings-file.ts';

/** What became of the file. The image is there whatever happens to it: the entry is printed then. */
export async function noteInFile(wish: ImageWish, adopted: Adopted): Promise<FileNote | null> {
  if (adopted.state === 'refused') return null;
  try {
    const takenOver = await writeImage(wish, adopted.settings[wish.family] ?? {});
    return { file: wish.file, isWritten: true, problem: null, ...takenOver };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { file: wish.file, isWritten: false, problem, kept: {}, dropped: {} };
  }
}

interface FileNote extends TakenOver {
  readonly file: string;
  readonly isWritten: boolean;
  readonly problem: string | null;
}

/** What adopting has come to, for a person. No final newline. */
export function adoptionText(adopted: Adopted, told: FileNote | null): string {
  if (adopted.state === 'refused') {
    return [
      'refused; no image was made',
      ...adopted.found.map((place) => `  holds ${plainText(place)}`),
      ...adopted.unseen.map((volume) => `  could not be looked into: ${plainText(volume)}`),
      ...(adopted.found.length > 0 && adopted.unseen.length === 0 ? ['--remove-references wipes what was found'] : []),
    ].join('\n');
  }
  const removed = adopted.removed.map((place) => `  wiped ${plainText(place)}`);
  if (told?.isWritten === true) {
    return [
      `${adopted.imageId} (${adopted.revision})`,
      ...removed,
      ...takenOverLines(told),
      `written to sandboxes.images of ${plainText(told.file)}; sandboxes start from it once the stage is deployed:`,
      `  npx cdk deploy --all -c settings=${plainText(told.file)}`,
    ].join('\n');
  }
  const entry = JSON.stringify(adopted.settings, null, 2);
  return [
    `${adopted.imageId} (${adopted.revision})`,
    ...removed,
    ...(told === null ? [] : [`${plainText(told.file)} was not changed: ${plainText(told.problem ?? '')}`]),
    'add this to sandboxes.images of the stage’s settings, and deploy:',
    entry,
  ].join('\n');
}

function takenOverLines({ kept, dropped }: TakenOver): string[] {
  const said = (parts: object): string => plainText(JSON.stringify(parts));
  return [
    ...(Object.keys(kept).length === 0 ? [] : [`  kept of the image before: ${said(kept)}`]),
    ...(Object.keys(dropped).length === 0
      ? []
      : [
          `  not kept of the image before: ${said(dropped)}; if this one has the driver too, set it, or give --keep-gpu`,
        ]),
  ];
}
