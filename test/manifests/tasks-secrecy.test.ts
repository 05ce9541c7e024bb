import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { listLeaves } from '#grading/json';
import { folderNames, needsScreen, readCard, REPOSITORY, taskNames, TASKS } from '#test/builders/task-folder';

/** All regular files below a folder; none when it does not exist. */
function filesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

const read = (file: string): string => readFileSync(file, 'utf8');

/** Numbers in a text, commas and trailing zeros dropped, that are long enough to be told from chance. */
function longNumbers(text: string): ReadonlySet<string> {
  const numbers = text.match(/\d[\d,]*(\.\d+)?/g) ?? [];
  const plain = numbers.map((number) =>
    number
      .replaceAll(',', '')
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, ''),
  );
  return new Set(plain.filter((number) => number.replace(/\D/g, '').replace(/^0+/, '').length >= 3));
}

function findLeaks(text: string, secrets: ReadonlySet<string>): readonly string[] {
  return [...longNumbers(text)].filter((number) => secrets.has(number));
}

/** Numbers of the references that no input and no published amount holds: they can only be computed. */
function computedNumbers(task: string): ReadonlySet<string> {
  const folder = path.join(TASKS, task);
  const published = readCard(task)['publishedAmounts'];
  const known = [...filesBelow(path.join(folder, 'input')), ...filesBelow(path.join(folder, 'software'))];
  if (typeof published === 'string') known.push(path.join(folder, published));
  const knownNumbers = longNumbers(known.map(read).join('\n'));
  const references = filesBelow(path.join(folder, 'reference')).map(read).join('\n');
  return new Set([...longNumbers(references)].filter((number) => !knownNumbers.has(number)));
}

/** The files that must not hold an answer: grader, solution and their modules, the recording, derived wrong outputs. */
function openFiles(task: string): readonly string[] {
  const folder = path.join(TASKS, task);
  const sources = readdirSync(folder).filter(
    (name) => name.endsWith('.ts') || name === 'README.md' || name === 'task_card.json',
  );
  const recording = path.join(REPOSITORY, 'agents/scripted', `${task.replace('/', '__')}.json`);
  return [
    ...sources.map((name) => path.join(folder, name)),
    ...(existsSync(recording) ? [recording] : []),
    ...filesBelow(path.join(folder, 'wrong')).filter((file) => path.basename(file) === 'wrong.json'),
  ];
}

/** A wrong output's score is no answer; everything else in its file is looked at. */
function textOf(file: string): string {
  if (path.basename(file) !== 'wrong.json') return read(file);
  const { score: _score, ...rest } = JSON.parse(read(file)) as Record<string, unknown>;
  return JSON.stringify(rest);
}

describe('the search for answers', () => {
  it('finds a number however it is written, and no part of another', () => {
    const secrets = new Set(['50388', '4.125']);
    expect(findLeaks('wages = "$50,388.00"; x = 4.1250', secrets)).toEqual(['50388', '4.125']);
    expect(findLeaks('150388 503881 4.1251 0.50388', secrets)).toEqual([]);
  });

  it('has tasks to search', () => {
    expect(taskNames().length).toBeGreaterThanOrEqual(3);
  });
});

describe.each(taskNames())('%s', (task) => {
  const folder = path.join(TASKS, task);
  const secrets = computedNumbers(task);

  it('has answers that can only be computed', () => {
    // Those of a task on a screen depend on the attempt; no file has any.
    if (needsScreen(task)) expect([...secrets]).toEqual([]);
    else expect(secrets.size).toBeGreaterThanOrEqual(5);
  });

  it.each(openFiles(task).map((file) => path.relative(REPOSITORY, file)))('no computed answer stands in %s', (file) => {
    expect(findLeaks(textOf(path.join(REPOSITORY, file)), secrets)).toEqual([]);
  });

  it('stages no file and no long passage of a reference or the solution', () => {
    const staged = [...filesBelow(path.join(folder, 'input')), ...filesBelow(path.join(folder, 'software'))].map(read);
    const references = filesBelow(path.join(folder, 'reference')).map(read);
    const passages = references.flatMap((text) => (text.startsWith('[') ? stringLeaves(JSON.parse(text)) : [text]));
    const solution = read(path.join(folder, 'solution.ts'));
    const hidden = [...passages, ...solution.split('\n\n')]
      .map((text) => text.trim())
      .filter((text) => text.length >= 30);
    expect(hidden.length).toBeGreaterThan(3);
    for (const text of staged) expect(hidden.filter((passage) => text.includes(passage))).toEqual([]);
  });

  it('has nothing staged under a name that a reference has', () => {
    const names = (part: string): readonly string[] =>
      filesBelow(path.join(folder, part)).map((file) => path.basename(file));
    const references = new Set(names('reference'));
    expect([...names('input'), ...names('software')].filter((name) => references.has(name))).toEqual([]);
    expect(folderNames(folder)).not.toContain('output');
  });
});

function stringLeaves(document: unknown): readonly string[] {
  return [...listLeaves(document).values()].filter((leaf) => typeof leaf === 'string');
}
