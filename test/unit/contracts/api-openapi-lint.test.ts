import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const require = createRequire(import.meta.url);
const LINTER = require.resolve('@redocly/cli/bin/cli.js');
const folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-openapi-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Exit code and report of the linter, which asks nobody on the network. */
async function lint(file: string): Promise<{ readonly code: number; readonly report: string }> {
  const args = [LINTER, 'lint', file, '--config', 'test/fixtures/redocly.yaml'];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };
  return await new Promise((resolve) => {
    execFile(process.execPath, [...args, '--format', 'stylish'], { env, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), report: `${stdout}${stderr}` });
    });
  });
}

describe('infra/openapi.json', () => {
  it('passes the linter without a warning', async () => {
    const { code, report } = await lint('infra/openapi.json');
    expect(report).toContain('Your API description is valid');
    expect(report).not.toMatch(/You have \d/iu);
    expect(code).toBe(0);
  }, 90_000);

  it('would not pass with an operation without an id, or an example that does not fit', async () => {
    const text = readFileSync('infra/openapi.json', 'utf8');
    for (const [name, broken] of [
      ['id', text.replace('"operationId": "listSweeps",', '')],
      ['example', text.replace('"runningUnits": 2,', '"runningUnits": "two",')],
    ] as const) {
      expect(broken).not.toBe(text);
      const file = path.join(folder, `${name}.json`);
      writeFileSync(file, broken);
      expect((await lint(file)).code, name).toBe(1);
    }
  }, 90_000);
});
