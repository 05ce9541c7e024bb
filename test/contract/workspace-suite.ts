import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Workspace } from '#ports/workspace';

const CONTENT = 'content of the file';
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

/** What every workspace on a real disk must do. `open` makes one whose scratch folders lie below `parent`. */
export function describeWorkspace(open: (parent: string) => Workspace): void {
  const root = mkdtempSync(path.join(tmpdir(), 'workspace-'));
  const parent = path.join(root, 'scratch');
  const workspace = open(parent);
  const posted: string[] = [];
  let server: Server;
  let base = '';

  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        posted.push(Buffer.concat(chunks).toString('utf8'));
        if (request.url?.startsWith('/forbidden') === true) response.writeHead(403).end('secret reason');
        else if (request.url?.startsWith('/cut') === true) {
          response.writeHead(200, { 'content-length': '100' });
          response.write('half');
          response.destroy();
        } else if (request.url?.startsWith('/empty') === true) response.writeHead(200).end();
        else response.writeHead(200).end(CONTENT);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    base = `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}`;
  });

  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    rmSync(root, { recursive: true, force: true });
  });

  describe('a scratch folder', () => {
    it('is new each time, private, and gone with its content', async () => {
      const [one, other] = [await workspace.open(), await workspace.open()];
      expect(one.path).not.toBe(other.path);
      const file = await one.fileAt('a', 'b', 'c.txt');
      expect(existsSync(path.dirname(file))).toBe(true);
      expect(existsSync(await one.makeDir('d', 'e'))).toBe(true);
      await one.remove();
      await one.remove();
      expect(readdirSync(parent)).toEqual([path.basename(other.path)]);
      await other.remove();
    });

    it.each([['..', 'x'], ['a', '..', '..', 'x'], ['/etc/passwd'], ['.'], ['a/../../x'], ['a', '../../x']])(
      'has no path %j outside',
      async (...parts) => {
        const scratch = await workspace.open();
        await expect(scratch.fileAt(...parts)).rejects.toMatchObject({ name: 'UnsafePathError' });
        await expect(scratch.makeDir(...parts)).rejects.toMatchObject({ name: 'UnsafePathError' });
        await scratch.remove();
      },
    );

    it('takes names with spaces, unicode and dots', async () => {
      const scratch = await workspace.open();
      for (const name of ['a b', 'Ergebnis ü', '..hidden', '...', 'a..b']) {
        expect(path.dirname(await scratch.fileAt(name))).toBe(scratch.path);
      }
      await scratch.remove();
    });
  });

  describe('a download', () => {
    it('is written where it should be, checked by its hash or unchecked', async () => {
      const scratch = await workspace.open();
      const file = await scratch.fileAt('file');
      await workspace.download(`${base}/file`, file, SHA256);
      expect(readFileSync(file, 'utf8')).toBe(CONTENT);
      await workspace.download(`${base}/empty`, file, null);
      expect(readFileSync(file, 'utf8')).toBe('');
      await scratch.remove();
    });

    it('of another content than announced leaves no file', async () => {
      const scratch = await workspace.open();
      const file = await scratch.fileAt('file');
      await expect(workspace.download(`${base}/file`, file, '0'.repeat(64))).rejects.toMatchObject({
        name: 'ChecksumMismatchError',
        message: `a download has sha256 ${SHA256}; expected ${'0'.repeat(64)}`,
      });
      expect(existsSync(file)).toBe(false);
      await scratch.remove();
    });

    it.each(['/forbidden?signature=s3cret', '/cut?signature=s3cret'])(
      'that %s answers badly fails by name and tells no signature',
      async (place) => {
        const scratch = await workspace.open();
        const file = await scratch.fileAt('file');
        const error = await workspace.download(`${base}${place}`, file, null).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ name: 'StoreUnavailableError' });
        expect(String(error)).not.toMatch(/s3cret|secret reason/u);
        await scratch.remove();
      },
    );

    it('from where nobody listens fails by name', async () => {
      const unused = createServer();
      await new Promise<void>((resolve) => unused.listen(0, '127.0.0.1', resolve));
      const address = unused.address();
      const closed = `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}`;
      await new Promise((resolve) => unused.close(resolve));
      await expect(workspace.readUrl(`${closed}/x?signature=s3cret`)).rejects.toMatchObject({
        name: 'StoreUnavailableError',
        message: expect.not.stringContaining('s3cret') as string,
      });
    });
  });

  describe('an upload', () => {
    const grant = { url: '', fields: { policy: 'p', 'x-amz-signature': 's3cret' }, keyPrefix: 'grades/' };

    it('sends the fields, then key and file', async () => {
      await workspace.upload({ ...grant, url: `${base}/artifacts` }, 'grades/raw.json', '{"end":"returned"}');
      const form = posted.at(-1) ?? '';
      const places = ['name="policy"', 'name="key"', 'grades/raw.json', 'name="file"', '{"end":"returned"}'].map(
        (part) => form.indexOf(part),
      );
      expect(places).toEqual(places.toSorted((one, other) => one - other));
      expect(Math.min(...places)).toBeGreaterThan(0);
    });

    it('that is refused fails by name and tells no signature', async () => {
      const error = await workspace
        .upload({ ...grant, url: `${base}/forbidden` }, 'grades/raw.json', '{}')
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'StoreUnavailableError' });
      expect(String(error)).toMatch(/\/forbidden was answered 403/u);
      expect(String(error)).not.toContain('s3cret');
    });
  });
}
