import { styleText } from 'node:util';

type Style = 'green' | 'red' | 'yellow' | 'dim' | 'bold';

/** Colour only where a person looks at a terminal and has not asked for none. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return stream.isTTY && process.env['NO_COLOR'] === undefined ? styleText(style, text) : text;
}

export function isLive(stream: NodeJS.WriteStream = process.stdout): boolean {
  return stream.isTTY && process.env['CI'] === undefined;
}
