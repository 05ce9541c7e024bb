import { evenly, FILM_BYTES_PER_REPORT, filmBytes, FilmSchema, framesThatFit, type Film } from '#core/film-strip';
import { objectKeys } from '#core/keys';
import type { UnitSummary } from '#core/report';
import type { AttemptRow } from '#core/rows';
import type { Ports } from '#ports/ports';

/** A unit of a report, and what is known of the screen of the attempt it is told by. */
export interface SeenUnit {
  readonly unit: UnitSummary;
  readonly attemptId: string | null;
  readonly screen: AttemptRow['screen'];
}

/** Adds what was seen of the screens. All units get as many pictures, so few that the report stays small. */
export async function withFilms(
  ports: Pick<Ports, 'artifacts'>,
  seen: readonly SeenUnit[],
): Promise<readonly UnitSummary[]> {
  const each = framesThatFit(seen.map(({ screen }) => screen?.filmBytes ?? 0));
  const units: UnitSummary[] = [];
  let left = FILM_BYTES_PER_REPORT;
  for (const { unit, attemptId, screen } of seen) {
    if (attemptId === null || screen === null) {
      units.push(unit);
      continue;
    }
    const { screenshots, hasFinal, guiEvents } = screen;
    const film = shortened(await readFilm(ports, attemptId), each, left);
    left -= filmBytes(film);
    units.push({ ...unit, screen: { screenshots, hasFinal, guiEvents, frames: film.frames } });
  }
  return units;
}

/** Pictures for which there is no room left stay links. */
function shortened({ frames }: Film, most: number, bytesLeft: number): Film {
  const film = { frames: evenly(frames, most) };
  if (filmBytes(film) <= bytesLeft) return { frames: [...film.frames] };
  return { frames: film.frames.map((frame) => ({ ...frame, thumbnail: null })) };
}

async function readFilm(ports: Pick<Ports, 'artifacts'>, attemptId: string): Promise<Film> {
  const ref = { bucket: 'artifacts', key: objectKeys.film(attemptId) } as const;
  if ((await ports.artifacts.head(ref)) === undefined) return { frames: [] };
  return FilmSchema.parse(JSON.parse(new TextDecoder().decode(await ports.artifacts.get(ref))));
}
