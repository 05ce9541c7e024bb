import { describe, expect, it } from 'vitest';
import { FILM_BYTES_PER_REPORT, filmBytes, type Film } from '#core/film-strip';
import { objectKeys } from '#core/keys';
import { withFilms, type SeenUnit } from '#usecases/steps/films';
import { reportSweep } from '#usecases/report-sweep';
import { ATTEMPT, runTo, UNIT } from '#test/builders/attempt-run';
import { plainPng } from '#test/builders/pictures';
import { reportUnit } from '#test/builders/report-unit';
import { World } from '#test/builders/world';

/** A unit whose film has so many pictures of so many characters. */
async function seen(world: World, unitId: string, frames: number, characters: number): Promise<SeenUnit> {
  const film: Film = {
    frames: Array.from({ length: frames }, (_, n) => ({
      path: `screenshots/${String(n)}.png`,
      label: `step ${String(n)}`,
      thumbnail: { width: 1, height: 1, pngBase64: 'A'.repeat(characters) },
    })),
  };
  const attemptId = `${unitId}.1`;
  await world.artifacts.put({ bucket: 'artifacts', key: objectKeys.film(attemptId) }, JSON.stringify(film));
  const screen = { screenshots: 40, hasFinal: true, guiEvents: 3, filmBytes: frames * characters };
  return { unit: reportUnit(unitId), attemptId, screen };
}

const shownBytes = (units: Awaited<ReturnType<typeof withFilms>>): number =>
  units.reduce((sum, unit) => sum + filmBytes({ frames: unit.screen?.frames ?? [] }), 0);

describe('withFilms', () => {
  it('adds counts and pictures to the units that have them', async () => {
    const world = new World();
    const units = await withFilms(world.ports, [
      await seen(world, 'u1', 6, 100),
      { unit: reportUnit('u2'), attemptId: null, screen: null },
    ]);
    expect(units[0]?.screen).toMatchObject({ screenshots: 40, hasFinal: true, guiEvents: 3 });
    expect(units[0]?.screen?.frames).toHaveLength(6);
    expect(units[1]?.screen).toBeNull();
  });

  it('shows fewer of each when a report would grow too large, the first and the last as long as two fit', async () => {
    const world = new World();
    const all = [];
    for (let n = 0; n < 20; n += 1) all.push(await seen(world, `u${String(n)}`, 6, 100_000));
    const units = await withFilms(world.ports, all);
    const labels = units.map((unit) => unit.screen?.frames.map(({ label }) => label).join(', '));
    expect(new Set(labels)).toEqual(new Set(['step 0, step 3, step 5']));
    expect(shownBytes(units)).toBeLessThanOrEqual(FILM_BYTES_PER_REPORT);
  });

  it('never holds more than a report may, and links to what has no room', async () => {
    const world = new World();
    const all = [];
    for (let n = 0; n < 10; n += 1) all.push(await seen(world, `u${String(n)}`, 6, 1_000_000));
    const units = await withFilms(world.ports, all);
    expect(shownBytes(units)).toBeLessThanOrEqual(FILM_BYTES_PER_REPORT);
    expect(units.at(-1)?.screen?.frames).toEqual([{ path: 'screenshots/0.png', label: 'step 0', thumbnail: null }]);
    for (const unit of units) expect(unit.screen?.frames).toHaveLength(1);
  });

  it('says what there was when the pictures themselves are gone', async () => {
    const world = new World();
    const unit = await seen(world, 'u1', 1, 10);
    await world.artifacts.remove({ bucket: 'artifacts', key: objectKeys.film('u1.1') });
    expect((await withFilms(world.ports, [unit]))[0]?.screen).toMatchObject({ screenshots: 40, frames: [] });
  });
});

describe('report-sweep', () => {
  it('puts the film of an attempt into the report', async () => {
    const world = new World();
    const base64 = plainPng(64, 48, [9, 9, 9]).toString('base64');
    const source = { media_type: 'image/png', base64 };
    world.modules.behave['parse'] = () => ({
      value: { steps: [{ source: 'agent', message: [{ type: 'image', source }] }] },
    });
    await runTo(world, 'closeUnit');
    await reportSweep({ sweepId: 'first', run: 1 }, world.ports);
    const html = world.runTree.text('./report.html');
    expect(html).toMatch(/<img src="data:image\/png;base64,[^"]+" width="64" height="48"/u);
    const { runDir } = await world.attempt(ATTEMPT);
    expect(html).toContain(`<a href="./${String(runDir)}/screenshots/0000.png">`);
    expect(html).toContain(`<h3>${UNIT}</h3>`);
  });
});
