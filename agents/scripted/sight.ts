import { bandShares, findRegions, type Raster, type RecordingPlace, type RecordingStep, type Region } from '#sdk';

type ReadShapes = Extract<RecordingStep, { readShapes: unknown }>['readShapes'];
type Beside = Extract<RecordingStep, { beside: unknown }>['beside'];

/** A shape on the screen, with its middle in pixels. */
export interface SeenShape {
  readonly color: string;
  readonly shape: string;
  readonly x: number;
  readonly y: number;
}

/** How far off its line something may stand and still be beside. */
const SLANT = 0.2;

/** The region a place means; undefined while the screen does not show it. */
export function findPlace(screen: Raster, { nth = 0, color, ...rules }: RecordingPlace): Region | undefined {
  const given = Object.entries(rules).filter(([, value]) => value !== undefined);
  return findRegions(screen, { color, ...Object.fromEntries(given) })[nth];
}

/** Shapes of each colour within a region, each named after the outline that is nearest to its own. */
export function seeShapes(screen: Raster, within: Region, rules: ReadShapes): readonly SeenShape[] {
  const { minWidth, minHeight } = rules;
  return Object.entries(rules.colors).flatMap(([name, color]) =>
    findRegions(screen, { color, within, minWidth, minHeight }).map((region) => ({
      color: name,
      shape: nearestOutline(screen, region, color, rules.shapes),
      x: region.x + region.width / 2,
      y: region.y + region.height / 2,
    })),
  );
}

function nearestOutline(screen: Raster, region: Region, color: string, shapes: ReadShapes['shapes']): string {
  const distances = Object.entries(shapes).map(([name, outline]) => {
    const seen = bandShares(screen, region, { color, bands: outline.length });
    return { name, distance: outline.reduce((sum, share, band) => sum + Math.abs(share - (seen[band] ?? 0)), 0) };
  });
  return distances.sort((one, other) => one.distance - other.distance)[0]?.name ?? 'nothing';
}

/** How many have that colour or that shape. */
export function countShapes(seen: readonly SeenShape[], word: string): number {
  return seen.filter(({ color, shape }) => color === word || shape === word).length;
}

const DIRECTIONS = { left: [-1, 0], right: [1, 0], above: [0, -1], below: [0, 1] } as const;

/** Colour and shape of the nearest one on that side of the only one of a colour; `nothing` when none is there. */
export function shapeBeside(seen: readonly SeenShape[], { color, side }: Omit<Beside, 'of'>): string {
  const [from, ...others] = seen.filter((each) => each.color === color);
  if (from === undefined || others.length > 0) {
    throw new Error(`${others.length + (from === undefined ? 0 : 1)} shapes are ${color}; one was looked for`);
  }
  const [across, down] = DIRECTIONS[side];
  const ahead = seen
    .map((each) => {
      const [dx, dy] = [each.x - from.x, each.y - from.y];
      return { each, along: dx * across + dy * down, off: Math.abs(dx * down) + Math.abs(dy * across) };
    })
    .filter(({ along, off }) => along > 0 && off < along * SLANT)
    .sort((one, other) => one.along - other.along);
  const nearest = ahead[0]?.each;
  return nearest === undefined ? 'nothing' : `${nearest.color} ${nearest.shape}`;
}
