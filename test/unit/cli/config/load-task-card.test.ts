import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadTaskCard } from '#cli/config/load-task-card';
import { configFolder, messages } from '#test/unit/cli/config/config-folder';

async function cardMessages(text: string): Promise<readonly string[]> {
  const folder = await configFolder({ 'task_card.json': text });
  return messages(folder, loadTaskCard('task_card.json', folder));
}

describe('a task card file', () => {
  it('gives the card and everything written in it', async () => {
    const raw = {
      title: 'T',
      vm: { snapshot: 'cpu-free', machineType: 'c4-standard-4', timeout: 7200 },
      evaluation: 'text',
    };
    const folder = await configFolder({ 'a/task_card.json': JSON.stringify(raw) });
    const loaded = await loadTaskCard('a/task_card.json', folder);
    expect(loaded.raw).toEqual(raw);
    expect(loaded.card).toMatchObject({
      title: 'T',
      snapshot: 'cpu-free',
      timeoutSeconds: 7200,
      machineType: { vCpus: 4, memoryMiB: 15360 },
    });
  });

  it('has all its problems reported with their places', async () => {
    const text =
      '{\n\t"vm": {\n\t\t"snapshot": "cpu-free",\n\t\t"timeout": true,\n\t\t"machineType": "z9-big-4"\n\t},\n\t"grading": {"mode": "container"}\n}\n';
    expect(await cardMessages(text)).toEqual([
      expect.stringMatching(
        /^task_card\.json:5:18: the machine type is none that is known; got "z9-big-4"; allowed: a GCE machine type: .*; write one such as .*$/,
      ),
      'task_card.json:4:14: "vm.timeout" is not a whole number 1 or more; got true; allowed: a whole number 1 or more; write plain digits, or remove the key for 7200',
      'task_card.json:7:22: grading mode "container" is not available yet; got "container"; allowed: light, same-sandbox; use one of these',
    ]);
  });

  it.each([
    ['{"vm": {},}', 'task_card.json:1:11', '"{\\"vm\\": {},}"'],
    ['{\n  "a": 1\n  "b": 2\n}', 'task_card.json:3:3', '"\\"b\\": 2"'],
    ['{"a": 1\n', 'task_card.json:2:1', '""'],
    ['', 'task_card.json:1:1', '""'],
    ['// no\n{}', 'task_card.json:1:1', '"// no"'],
  ])('%j is not JSON, and the place is said', async (text, place, got) => {
    expect(await cardMessages(text)).toEqual([
      `${place}: the task card is not valid JSON; got ${got}; allowed: JSON (no comments, no comma after the last item, at most 200 levels); correct the syntax here or just before`,
    ]);
  });

  it('must be an object', async () => {
    expect(await cardMessages('[]')).toEqual([
      'task_card.json:1:1: a task card is not an object; got an empty list; allowed: a JSON object; write the card as {"vm": {...}, ...}',
    ]);
  });

  it('must be there, a regular file, and text', async () => {
    const folder = await configFolder({ 'a/b': '' });
    await writeFile(path.join(folder, 'latin1.json'), Uint8Array.of(0x7b, 0xe9, 0x7d));
    const tail = 'allowed: a readable JSON file; put a task_card.json beside the task';
    expect(await messages(folder, loadTaskCard('none.json', folder))).toEqual([
      `none.json:1:1: the task card does not exist; got "<folder>/none.json"; ${tail}`,
    ]);
    expect(await messages(folder, loadTaskCard('a', folder))).toEqual([
      `a:1:1: the task card is a folder; got "<folder>/a"; ${tail}`,
    ]);
    expect(await messages(folder, loadTaskCard('latin1.json', folder))).toEqual([
      `latin1.json:1:1: the task card is not UTF-8 text; got "<folder>/latin1.json"; ${tail}`,
    ]);
    expect(await messages(folder, loadTaskCard('/dev/null', folder))).toEqual([
      `/dev/null:1:1: the task card is not a regular file; got "/dev/null"; ${tail}`,
    ]);
  });
});
