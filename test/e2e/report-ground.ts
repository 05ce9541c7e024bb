import { png } from '#test/builders/pictures';
import { guiEventLine } from '#core/cua/gui-event';
import { writeAgent, writeTask, taskModule, type TestGround } from './experiment-files.ts';

/** What runs as soon as a page takes one of our texts for markup. */
export const HOSTILE_TEXTS = [
  `<img src="x" onerror="document.title='RAN'">`,
  `</td></table></script><script>document.title='RAN'</script>`,
  `"><svg onload="document.title='RAN'">`,
  `<a href="javascript:document.title='RAN'">look</a><base href="https://example.invalid/">`,
  `\u202egnp.exe \u200b<link rel="stylesheet" href="https://example.invalid/x.css">`,
];

/** Screens as the agent left them: a window that grows, step by step. */
function screens(): Record<string, Buffer> {
  return Object.fromEntries(
    Array.from({ length: 9 }, (_, step) => [
      `shots/step ${String(step)} <b>.png`,
      png({
        width: 640,
        height: 400,
        filter: 1,
        pixel: (x, y) => {
          const isBar = y < 24;
          const isWindow = x > 80 && x < 160 + step * 50 && y > 60 && y < 120 + step * 30;
          if (isBar) return [40, 44, 52];
          return isWindow ? [250, 250, 250 - step * 20] : [46, 110 + Math.floor(y / 4), 140];
        },
      }),
    ]),
  );
}

/** Files that say they are pictures. */
function frauds(): Record<string, Buffer> {
  return {
    'shots/bomb.png': png({ header: { width: 60_000, height: 60_000 }, rows: Buffer.alloc(4 * 1024 * 1024) }),
    'shots/broken.png': png({ width: 64, height: 64 }).subarray(0, 90),
    'shots/page.png': Buffer.from(`<html><script>document.title='RAN'</script>`),
  };
}

const PAINTER_LAUNCH = (files: Readonly<Record<string, Buffer>>): string => `import fs from 'node:fs';
const { EXAMHALL_WORK: work = '', TASK_INPUT: input, TASK_OUTPUT: output = '' } = process.env;
const files = ${JSON.stringify(Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, bytes.toString('base64')])))};
fs.mkdirSync(work + '/shots', { recursive: true });
for (const [name, base64] of Object.entries(files)) fs.writeFileSync(work + '/' + name, Buffer.from(base64, 'base64'));
fs.symlinkSync('/etc/passwd', work + '/shots/link.png');
fs.writeFileSync(work + '/gui_events.jsonl', ${JSON.stringify(guiLines())});
fs.mkdirSync(output, { recursive: true });
fs.copyFileSync(input + '/word.txt', output + '/answer.txt');
`;

function guiLines(): string {
  const lines = HOSTILE_TEXTS.map((text) =>
    guiEventLine({ at: '2001-01-01T00:00:00.000Z', tool: 'type', arguments: { text }, durationMs: 3, ok: true }),
  );
  return `${lines.join('')}not an event\n`;
}

const PAINTER_PARSER = (names: readonly string[]): string => `
const image = (path: string) => ({ type: 'image' as const, source: { media_type: 'image/png', path } });
export function parse() {
  const names = ${JSON.stringify(names)};
  return {
    steps: names.map((name, index) => ({
      source: 'agent' as const,
      message: ${JSON.stringify(HOSTILE_TEXTS)}[index % ${String(HOSTILE_TEXTS.length)}],
      tool_calls: [{ tool_call_id: 'c' + index, function_name: ${JSON.stringify(HOSTILE_TEXTS[0])}, arguments: {} }],
      observation: { results: [{ source_call_id: 'c' + index, content: [image(name)] }] },
    })),
  };
}
`;

/** Tasks and agents for a report with pictures and with texts that would like to be markup. */
export function writeReportGround(ground: TestGround): void {
  const names = Object.keys(screens());
  writeTask(ground, 'e2e/word', { variants: ['base', 'other'] });
  const throws = `  throw new Error(${JSON.stringify(HOSTILE_TEXTS.join(' '))});`;
  writeTask(ground, 'e2e/broken', { module: taskModule(['base'], throws) });
  writeAgent(ground, 'painter', PAINTER_LAUNCH(screens()));
  ground.write('agents/painter/parser.ts', PAINTER_PARSER(names));
  writeAgent(ground, 'fraud', PAINTER_LAUNCH(frauds()));
  const referred = [...Object.keys(frauds()), 'shots/link.png', '../../etc/passwd', 'shots/none.png'];
  ground.write('agents/fraud/parser.ts', PAINTER_PARSER(referred));
}
