import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import { stageSettings } from '#test/builders/stage-settings';
import type { StageSettings } from '../../infra/config/settings.ts';
import { buildApp, type BuiltApp } from '../../infra/stacks/build-app.ts';

/** A folder for the tests of one file, removed after them. */
export function scratchFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'examhall-synth-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Bundles that say nothing: for tests that look at templates only. */
export function placeholderFunctions(folder: string): ReadonlyMap<string, { readonly folder: string }> {
  return new Map(
    FUNCTIONS.map(({ name }) => {
      const own = path.join(folder, 'functions', name);
      mkdirSync(own, { recursive: true });
      writeFileSync(path.join(own, 'index.mjs'), `export const handler = async () => ${JSON.stringify(name)};\n`);
      if (name === 'provision-sandbox') writeFileSync(path.join(own, 'boot.tar.gz'), 'an archive');
      return [name, { folder: own }];
    }),
  );
}

/** The app over placeholder functions, not synthesised yet. Call it once for each file and settings: it takes seconds. */
export function appForTests(settings: StageSettings = stageSettings(), folder: string = scratchFolder()): BuiltApp {
  return buildApp({
    settings,
    functions: placeholderFunctions(folder),
    outdir: mkdtempSync(path.join(folder, 'cdk.out-')),
    isChecked: false,
  });
}
