import { describe, expect, it } from 'vitest';
import type { FilmFrame } from '#core/film-strip';
import { buildReport, type UnitScreen } from '#core/report';
import { renderReport } from '#core/report-html';
import { reportUnit } from '#test/builders/report-unit';
import { allOf, parseHtml, textOf, type HtmlElement } from '#test/builders/html-tree';

const FRAME: FilmFrame = {
  path: 'screenshots/0000.png',
  label: 'step 2: click',
  thumbnail: { width: 240, height: 150, pngBase64: 'iVBORw0KGgo=' },
};

function pageWith(screen: Partial<UnitScreen> | null, runDir: string | null = 'a/b/c/v0/1'): HtmlElement {
  const whole = { screenshots: 1, hasFinal: true, guiEvents: 7, frames: [FRAME] };
  const unit = reportUnit('u1', { runDir, screen: screen === null ? null : { ...whole, ...screen } });
  const input = {
    title: 't',
    sweepId: 's',
    generatedAt: '2026-01-02T03:04:05Z',
    plannedUnitIds: ['u1'],
    units: [unit],
  };
  return parseHtml([...renderReport(buildReport(input))].join(''));
}

describe('film strips of the report', () => {
  it('show small pictures with a text and a size, each leading to the whole one', () => {
    const page = pageWith({});
    const [picture] = allOf(page, 'img');
    expect(picture?.attributes).toEqual({
      src: 'data:image/png;base64,iVBORw0KGgo=',
      width: '240',
      height: '150',
      alt: 'step 2: click, u1',
      loading: 'lazy',
    });
    const [article] = allOf(page, 'article');
    expect(allOf(article ?? page, 'a').map(({ attributes }) => attributes['href'])).toEqual([
      './a/b/c/v0/1/screenshots/0000.png',
    ]);
    expect(textOf(article ?? '')).toContain('1 screenshot of steps, one after the agent had ended, 7 GUI events');
  });

  it('are left out where no unit had a screen', () => {
    expect(allOf(pageWith(null), 'article')).toEqual([]);
    expect(textOf(pageWith(null))).not.toContain('Screens');
  });

  it('say what is missing', () => {
    const page = pageWith({ screenshots: 0, hasFinal: false, guiEvents: null, frames: [] });
    expect(textOf(page)).toContain('0 screenshots of steps, none after the agent had ended, no gui_events.jsonl');
    expect(textOf(page)).toContain('No picture.');
  });

  it('link to a picture without a small copy, and to nothing without a folder', () => {
    const frames = [{ ...FRAME, thumbnail: null }];
    const linked = allOf(pageWith({ frames }), 'article')[0];
    expect(linked === undefined ? [] : allOf(linked, 'a').map(textOf)).toEqual(['no small copy']);
    const loose = allOf(pageWith({ frames }, null), 'article')[0];
    expect(loose === undefined ? ['?'] : allOf(loose, 'a')).toEqual([]);
  });

  it.each(['"onload="alert(1)', '../../x', '', 'AAAA" /><script>', 'A=A'])(
    'embed nothing that is not base64: %j',
    (pngBase64) => {
      const page = pageWith({ frames: [{ ...FRAME, thumbnail: { width: 1, height: 1, pngBase64 } }] });
      expect(allOf(page, 'img')).toEqual([]);
    },
  );

  it.each(['../../etc/passwd', '/etc/passwd', 'a//b.png', 'javascript:alert(1)'])(
    'lead nowhere outside the folder: %j',
    (path) => {
      const page = pageWith({ frames: [{ ...FRAME, path, label: '<b>"\u202e' }] });
      const [article] = allOf(page, 'article');
      const links = article === undefined ? [] : allOf(article, 'a');
      for (const { attributes } of links) expect(attributes['href']).toBe('./a/b/c/v0/1/javascript%3Aalert(1)');
      expect(allOf(page, 'img')[0]?.attributes['alt']).toBe('<b>"[U+202E], u1');
    },
  );
});
