import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bundleFunctions } from './bundler-functions.ts';
import { loadSettings, SettingsError } from './config/load-settings.ts';
import { buildApp } from './stacks/build-app.ts';

async function synthesise(): Promise<void> {
  const settings = loadSettings(process.env);
  const folder = mkdtempSync(path.join(tmpdir(), 'examhall-functions-'));
  try {
    buildApp({ settings, functions: await bundleFunctions(folder) }).app.synth();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await synthesise().catch((error: unknown) => {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
