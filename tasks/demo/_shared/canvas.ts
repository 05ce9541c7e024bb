import { parseColor, type Raster } from '#sdk';

/** A picture to paint on, without any smoothing: every pixel has exactly the colour it was given. */
export class Canvas implements Raster {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;

  constructor(width: number, height: number, background: string) {
    this.width = width;
    this.height = height;
    this.rgb = new Uint8Array(width * height * 3);
    this.paint({ x: 0, y: 0, width, height }, background, () => true);
  }

  /** Colours the pixels of a rectangle that `isInside` says yes to; it is asked for their middles, in [0,1] each way. */
  paint(
    { x, y, width, height }: { x: number; y: number; width: number; height: number },
    color: string,
    isInside: (across: number, down: number) => boolean,
  ): void {
    const ink = parseColor(color);
    for (let row = 0; row < height; row += 1) {
      for (let column = 0; column < width; column += 1) {
        if (isInside((column + 0.5) / width, (row + 0.5) / height)) {
          this.rgb.set(ink, ((y + row) * this.width + x + column) * 3);
        }
      }
    }
  }
}
