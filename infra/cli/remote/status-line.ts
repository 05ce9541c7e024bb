import { isLive, paint } from '#cli/style';
import { plainText } from './plain-text.ts';

/** One line at the end of the output that is rewritten on a terminal, and nothing elsewhere. */
export class StatusLine {
  readonly #stream: NodeJS.WriteStream;
  #isShown = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  show(text: string): void {
    if (!isLive(this.#stream)) return;
    this.clear();
    const width = Math.max(20, this.#stream.columns - 1);
    this.#stream.write(paint('dim', plainText(text).slice(0, width), this.#stream));
    this.#isShown = true;
  }

  /** Removes the line. Safe to repeat. */
  clear(): void {
    if (!this.#isShown) return;
    this.#stream.write('\r\u001b[2K');
    this.#isShown = false;
  }

  /** Prints lines of their own above. */
  print(text: string): void {
    this.clear();
    for (const line of text.split('\n')) this.#stream.write(`${plainText(line)}\n`);
  }
}
