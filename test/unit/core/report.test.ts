import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LEDGER_CLASSES, type LedgerClass } from '#core/denominators';
import { buildReport, ledgerSum, type ReportInput } from '#core/report';
import { renderReport } from '#core/report-html';
import { durationText, escapeHtml, relativeHref } from '#core/report-html-text';
import { allOf, parseHtml, rowsOf, textOf, type HtmlElement } from '#test/builders/html-tree';
import { reportUnit } from '#test/builders/report-unit';

const UNITS = [
  reportUnit('u1', { score: 1 }),
  reportUnit('u2', { score: 0.5, variant: 1 }),
  reportUnit('u3', {
    class: 'lost',
    taskPath: 'legal/contract',
    isolation: 'none',
    network: 'host',
    signatureId: 'ec2-no-capacity',
  }),
  reportUnit('u4', {
    agentId: 'scripted',
    model: 'm-1',
    class: 'forfeited',
    unverified: ['Windows'],
    unknownError: true,
  }),
  reportUnit('u5', {
    agentId: 'scripted',
    model: 'm-1',
    class: 'not_run',
    costUsd: null,
    runDir: null,
    stageSeconds: {},
  }),
];
const INPUT: ReportInput = {
  title: 'First sweep',
  sweepId: 'first',
  generatedAt: '2026-01-02T03:04:05Z',
  plannedUnitIds: ['u1', 'u2', 'u3', 'u4', 'u5', 'u6'],
  units: UNITS,
  notPlanned: [{ what: 'demo/hello_win', enabledBy: 'a Windows sandbox' }],
  warnings: ['the budget ran out'],
  provenance: [{ label: 'Exam Hall', value: '0.1.0' }],
};

function pageOf(input: Partial<ReportInput> = {}): HtmlElement {
  return parseHtml([...renderReport(buildReport({ ...INPUT, ...input }))].join(''));
}

function tableOf(page: HtmlElement, caption: string): readonly (readonly string[])[] {
  const table = allOf(page, 'table').find((each) => textOf(allOf(each, 'caption')[0] ?? '').startsWith(caption));
  if (table === undefined) throw new Error(`no table ${caption}`);
  return rowsOf(table);
}

describe('buildReport', () => {
  it('counts each planned unit once, and those nobody has heard of as open', () => {
    const data = buildReport(INPUT);
    expect(ledgerSum(data.ledger)).toBe(
      '2 scored + 1 forfeited + 1 lost + 0 task fault + 1 not run + 1 open = 6 planned',
    );
    expect(data.unseenUnitIds).toEqual(['u6']);
    expect(() => buildReport({ ...INPUT, plannedUnitIds: ['u1'] })).toThrow(/not in the plan/);
  });

  it('adds up by agent and by cell to the whole', () => {
    const classes = fc.constantFrom(...LEDGER_CLASSES);
    const some = fc.array(
      fc.tuple(
        classes,
        fc.constantFrom('a', 'b'),
        fc.constantFrom('x/1', 'x/2'),
        fc.double({ min: 0, max: 1, noNaN: true }),
      ),
    );
    fc.assert(
      fc.property(some, (rows) => {
        const units = rows.map(([kind, agentId, taskPath, score], index) =>
          reportUnit(`u${String(index)}`, { class: kind, agentId, taskPath, score: kind === 'scored' ? score : null }),
        );
        const data = buildReport({ ...INPUT, units, plannedUnitIds: units.map((each) => each.unitId) });
        for (const each of LEDGER_CLASSES) {
          const inAgents = data.agents.reduce((sum, agent) => sum + agent.ledger.counts[each], 0);
          const inCells = data.tasks
            .flatMap((task) => task.cells)
            .reduce((sum, cell) => sum + (cell?.counts[each] ?? 0), 0);
          expect([inAgents, inCells]).toEqual([data.ledger.counts[each], data.ledger.counts[each]]);
        }
      }),
    );
  });

  it('takes median, longest and sum of each stage that was timed', () => {
    const seconds = [1, 9, 4, 2].map((run, index) =>
      reportUnit(`u${String(index)}`, { stageSeconds: { run, grade: 0 } }),
    );
    const { stages } = buildReport({ ...INPUT, units: seconds, plannedUnitIds: seconds.map((each) => each.unitId) });
    expect(stages).toEqual([
      { stage: 'run', units: 4, medianSeconds: 3, longestSeconds: 9, totalSeconds: 16 },
      { stage: 'grade', units: 4, medianSeconds: 0, longestSeconds: 0, totalSeconds: 0 },
    ]);
  });

  it('warns of missing isolation, shared networks, unknown errors and what is not verified', () => {
    const text = buildReport(INPUT).warnings.join('\n');
    expect(text).toMatch(
      /isolation: none for 1 unit:[^]*network: host for 1 unit:[^]*blame table does not know[^]*not verified: Windows[^]*budget ran out/u,
    );
    expect(buildReport({ ...INPUT, units: [reportUnit('u1')], warnings: [] }).warnings).toEqual([]);
  });
});

describe('renderReport', () => {
  it('shows the sum of the classes, and the three treatments of lost units', () => {
    const page = pageOf();
    expect(textOf(page)).toContain('2 scored + 1 forfeited + 1 lost + 0 task fault + 1 not run + 1 open = 6 planned');
    const rows = tableOf(page, 'All agents together');
    expect(rows[0]).toEqual(['Lost units', 'Units counted', 'Passes', 'Pass rate', 'Mean score']);
    expect(rows.slice(1).map((row) => [row[0], row[1], row[2], row[4]])).toEqual([
      ['lost units count 0', '4', '1', '0.375'],
      ['lost units left out', '3', '1', '0.500'],
      ['lost units count 1', '4', '2', '0.625'],
    ]);
    expect(rows[1]?.[3]).toMatch(/^25\.0 % \[4\.6, 69\.9\]$/u);
  });

  it('keeps mean score and pass rate in columns of their own in the matrix', () => {
    const [, subheads, hello, legal] = tableOf(pageOf(), 'Lost units left out');
    expect(subheads).toEqual(['Mean score', 'Pass rate', 'Units', 'Mean score', 'Pass rate', 'Units']);
    expect(hello).toEqual(['demo/hello', '0.750', '50.0 %', '22 scored', '0.000', '0.0 %', '21 forfeited, 1 not run']);
    expect(legal).toEqual(['legal/contract', '–', '–', '11 lost', '–', '–', '0']);
  });

  it('has a row for each planned unit, with links to its record below its own folder', () => {
    const page = pageOf();
    const rows = tableOf(page, 'One row for each planned unit').slice(1);
    expect(rows.map((row) => row[0])).toEqual(INPUT.plannedUnitIds);
    const links = allOf(page, 'a').map((link) => link.attributes['href'] ?? '');
    expect(links.length).toBe(2 * UNITS.filter((each) => each.runDir !== null).length);
    for (const link of links) expect(link).toMatch(/^\.\/oracle\/[\w%/-]+(?:\/|\/record\.json)$/u);
  });

  it('asks for nothing from outside, runs no script and names the scope of every header', () => {
    const html = [...renderReport(buildReport(INPUT))].join('');
    expect(html).not.toMatch(/<script|javascript:|https?:|url\(|@import|src=|\son\w+=/iu);
    const page = parseHtml(html);
    expect(page.attributes['lang']).toBe('en');
    const heads = allOf(page, 'th');
    expect(heads.length).toBeGreaterThan(20);
    for (const head of heads) expect(['col', 'row', 'colgroup']).toContain(head.attributes['scope']);
    for (const table of allOf(page, 'table')) expect(allOf(table, 'caption').length).toBe(1);
    const [svg] = allOf(page, 'svg');
    expect(svg?.attributes['role']).toBe('img');
    expect(allOf(page, 'rect').length).toBe(2);
  });

  const hostile = [
    '</script><script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    '&lt;b&gt; & </style>',
    'abc\u202Egnp.exe\u2066',
    'zero\u200Bwidth\uFEFF and \u0007bell',
    '\ud800 lone',
    '../../../etc/passwd',
    'javascript:alert(1)',
  ];

  it.each(hostile)('shows %j as text wherever it may stand', (name) => {
    const page = pageOf({
      title: name,
      sweepId: name,
      plannedUnitIds: [name, `${name}2`],
      units: [
        reportUnit(name, {
          agentId: name,
          model: name,
          taskPath: name,
          note: name,
          signatureId: name,
          runDir: name,
          unverified: [name],
        }),
      ],
      warnings: [name],
      notPlanned: [{ what: name, enabledBy: name }],
      provenance: [{ label: name, value: name }],
    });
    expect(allOf(page, 'img').concat(allOf(page, 'script'), allOf(page, 'b')).length).toBe(0);
    const shown = textOf(page);
    expect(shown.split(textOf(parseHtml(`<p>${escapeHtml(name)}</p>`))).length).toBeGreaterThan(10);
    expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u0007]|\p{Cs}/u);
    for (const { attributes } of allOf(page, 'a')) expect(attributes['href']).toMatch(/^\.\/(?!\.\.)[^:"'<>]*$/u);
  });

  it('stays well formed for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom<LedgerClass>(...LEDGER_CLASSES), (text, kind) => {
        const units = [reportUnit('u1', { class: kind, taskPath: text, agentId: text, note: text, runDir: text })];
        const page = pageOf({ units, title: text });
        expect(textOf(allOf(page, 'h1')[0] ?? '')).toBe(textOf(parseHtml(`<p>${escapeHtml(text)}</p>`)));
      }),
    );
  });

  it('shows an empty sweep without a number that is none', () => {
    const page = pageOf({ plannedUnitIds: [], units: [], warnings: [], notPlanned: [], provenance: [] });
    expect(textOf(page)).toContain('= 0 planned');
    expect(textOf(page)).not.toMatch(/NaN|Infinity|undefined|null/u);
  });
});

describe('texts of the report', () => {
  it('writes durations for people', () => {
    expect([null, 0, 59.94, 60, 3599.6, 7384].map(durationText)).toEqual([
      '–',
      '0.0 s',
      '59.9 s',
      '1 min 00 s',
      '1 h 00 min',
      '2 h 03 min',
    ]);
  });

  it('links only to what lies below', () => {
    expect(relativeHref('a b/ü#?/c')).toBe('./a%20b/%C3%BC%23%3F/c');
    for (const path of ['../x', '/x', 'a//b', '', 'a/./b']) expect(relativeHref(path)).toBeNull();
    expect(relativeHref('javascript:alert(1)')).toBe('./javascript%3Aalert(1)');
  });
});
