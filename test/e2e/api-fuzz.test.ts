import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_ROUTES } from '#contracts/api-routes';
import { schemathesisVenv } from '#test/emulators/schemathesis-installation';
import { tier } from '#test/runner/tier';
import { endAllCli, REPOSITORY, startExamhall } from './cli-process.ts';
import type { Target } from './hostile-requests.ts';

const SECONDS = 60;
/**
 * Not among them: `positive_data_acceptance`, for what fits the schema may name agents and tasks that are not there, and
 * `use_after_free` and `ensure_resource_availability`, for nothing is ever deleted.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'missing_required_header',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'examhall-fuzz-'));
});
afterAll(async () => {
  await endAllCli();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** In a folder of its own, for it leaves caches where it runs. */
async function schemathesis(args: readonly string[]): Promise<Ended> {
  const program = schemathesisVenv.program('schemathesis');
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), (SECONDS + 60) * 1000);
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output });
    });
  });
}

tier('schemathesis')('the served API against its own description', () => {
  it('keeps every promise of infra/openapi.json', async () => {
    const server = startExamhall([], { main: path.join(REPOSITORY, 'test/e2e/serve-roles.ts'), timeoutSeconds: 280 });
    const { port, tokens } = JSON.parse(await server.firstLine()) as Target;
    const { code, output } = await schemathesis([
      ...['--config-file', path.join(REPOSITORY, 'test/emulators/schemathesis.toml')],
      ...['run', path.join(REPOSITORY, 'infra/openapi.json'), '--url', `http://127.0.0.1:${String(port)}`],
      ...['--header', `Authorization: Bearer ${tokens['admin'] ?? ''}`, '--checks', CHECKS.join(',')],
      ...['--phases', 'examples,coverage,fuzzing', '--max-time', String(SECONDS), '--seed', '1'],
      ...['--continue-on-failure', '--no-color', '--warnings', 'off', '--generation-database', 'none'],
    ]);
    expect(output.slice(-6000), output.slice(-6000)).toContain(`Tested: ${String(API_ROUTES.length)}\n`);
    expect(code, output.slice(-12_000)).toBe(0);
    process.kill(server.pid, 'SIGTERM');
    expect((await server.ended).stderr).toBe('');
  }, 280_000);
});
