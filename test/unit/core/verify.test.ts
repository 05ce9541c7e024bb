import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildRecord, recordText } from '#core/record';
import { verifyRecord, type RecordProblem } from '#core/verify';
import { RECORD_CHECKS } from '#contracts/schema-files';
import { costFile } from '#test/builders/costs';
import { MemoryRunFolder, sampleContent, sha256 } from '#test/builders/run-folder';

async function verify(folder: MemoryRunFolder, expected?: string): Promise<readonly RecordProblem[]> {
  const options = {
    sha256,
    checks: RECORD_CHECKS,
    ...(expected === undefined ? {} : { expectedRecordSha256: expected }),
  };
  return verifyRecord(await folder.readText('record.json'), folder, options);
}

function pathsOf(problems: readonly RecordProblem[]): readonly string[] {
  return [...new Set(problems.map((problem) => problem.path))];
}

/** Writes a record that is whole in itself but names what it should not, or tells another story. */
function rerecord(
  folder: MemoryRunFolder,
  change: (record: MemoryRunFolder['record']) => Partial<MemoryRunFolder['record']>,
): void {
  const { formatVersion: _version, recordSha256: _hash, files: _files, ...content } = folder.record;
  const changed = { ...content, files: folder.record.files, ...change(folder.record) };
  const { files, ...rest } = changed;
  folder.files.set('record.json', Buffer.from(recordText(buildRecord({ ...sampleContent(), ...rest }, files, sha256))));
}

describe('verifyRecord', () => {
  it('has nothing to say about a folder as it was written', async () => {
    const folder = new MemoryRunFolder();
    expect(folder.record.files.length).toBeGreaterThanOrEqual(8);
    expect(await verify(folder)).toEqual([]);
    expect(await verify(folder, folder.record.recordSha256)).toEqual([]);
  });

  it('names exactly the file in which any byte was changed', async () => {
    const paths = [...new MemoryRunFolder().files].filter(([, bytes]) => bytes.length > 0).map(([path]) => path);
    expect(paths).toContain('record.json');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (path, place, flip) => {
          const folder = new MemoryRunFolder();
          const bytes = Uint8Array.from(folder.bytes(path));
          const at = place % bytes.length;
          bytes[at] = (bytes[at] ?? 0) ^ flip;
          folder.files.set(path, bytes);
          expect(pathsOf(await verify(folder))).toEqual([path]);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('names record.json wherever a byte of it was changed', async () => {
    const folder = new MemoryRunFolder();
    const original = folder.bytes('record.json');
    for (let at = 0; at < original.length; at += 11) {
      const bytes = Uint8Array.from(original);
      bytes[at] = (bytes[at] ?? 0) ^ 0x20;
      folder.files.set('record.json', bytes);
      expect(pathsOf(await verify(folder))).toEqual(['record.json']);
    }
  });

  it('names missing, added, cut and lengthened files', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...new MemoryRunFolder().files.keys()),
        fc.constantFrom('missing', 'cut', 'longer'),
        async (path, how) => {
          const folder = new MemoryRunFolder();
          const bytes = folder.bytes(path);
          if (how === 'cut' && bytes.length === 0) return;
          if (how === 'missing' && path === 'record.json') return;
          if (how === 'missing') folder.files.delete(path);
          else folder.files.set(path, how === 'cut' ? bytes.slice(0, -1) : Uint8Array.from([...bytes, 10]));
          expect(pathsOf(await verify(folder))).toEqual([path]);
        },
      ),
    );
    const folder = new MemoryRunFolder();
    folder.files.set('output/new.txt', Buffer.from('x'));
    expect(await verify(folder)).toEqual([{ path: 'output/new.txt', kind: 'added', message: 'is not in the record' }]);
  });

  it('finds a folder that was rewritten as a whole when it is told the hash to expect', async () => {
    const folder = new MemoryRunFolder();
    const before = folder.record.recordSha256;
    rerecord(folder, () => ({ ids: { ...folder.record.ids, sweepId: 'second' } }));
    expect(await verify(folder)).toEqual([]);
    expect(pathsOf(await verify(folder, before))).toEqual(['record.json']);
  });

  it('names a file that tells another story than the record', async () => {
    const folder = new MemoryRunFolder();
    rerecord(folder, () => ({ grade: { kind: 'graded', score: 1, detail: null } }));
    expect(pathsOf(await verify(folder))).toEqual(['run.json', 'eval_result.json']);
    rerecord(folder, () => ({ ids: { ...folder.record.ids, runId: 'other' } }));
    expect(pathsOf(await verify(folder))).toEqual(['run.json', 'events.jsonl']);
  });

  it('names a file that is as recorded but not well formed', async () => {
    const bad = new MemoryRunFolder({
      'events.jsonl': Buffer.from('{"ts":"yesterday","type":"run_started","run_id":"x"}\n'),
      'trajectory.json': Buffer.from('{"schema_version":"ATIF-v1.8"}'),
      'run.json': Buffer.from('not json'),
    });
    const problems = await verify(bad);
    expect(pathsOf(problems)).toEqual(['run.json', 'trajectory.json', 'events.jsonl']);
    expect(problems.every((problem) => ['malformed', 'inconsistent'].includes(problem.kind))).toBe(true);
  });

  it.each(['../run.json', '/etc/passwd', 'a//b', 'record.json', './x'])(
    'refuses a record that names %s',
    async (path) => {
      const folder = new MemoryRunFolder();
      rerecord(folder, (record) => ({ files: [...record.files, { path, sizeBytes: 1, sha256: sha256('x') }] }));
      expect(await verify(folder)).toMatchObject([{ path: 'record.json', kind: 'malformed' }]);
    },
  );

  it('refuses a record that names a file twice, or is not of its schema', async () => {
    const folder = new MemoryRunFolder();
    rerecord(folder, (record) => ({ files: [...record.files, ...record.files.slice(0, 1)] }));
    expect((await verify(folder))[0]?.message).toMatch(/twice/);
    folder.files.set('record.json', Buffer.from(recordText({ ...folder.record, surprise: 1 })));
    expect((await verify(folder))[0]).toMatchObject({ path: 'record.json', kind: 'malformed' });
  });

  it('knows the cost file of another attempt, and one that is none', async () => {
    const file = { ...costFile(), attemptId: new MemoryRunFolder().record.ids.attemptId };
    const folderOf = (content: unknown): MemoryRunFolder =>
      new MemoryRunFolder({ 'cost.json': Buffer.from(JSON.stringify(content)) });
    expect(await verify(folderOf(file))).toEqual([]);
    expect(await verify(folderOf({ ...file, attemptId: 'other.1' }))).toMatchObject([
      { path: 'cost.json', kind: 'inconsistent' },
    ]);
    expect(
      pathsOf(await verify(folderOf({ ...file, parts: [{ part: 'machine', basis: 'estimated', usd: -1 }] }))),
    ).toEqual(['cost.json']);
  });
});
