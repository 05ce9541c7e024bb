import { configDefaults, defineConfig } from 'vitest/config';
import { projectsOf, testSteps, type TestStep } from './runner/steps.ts';
import { wholeFiles } from './runner/whole.ts';

const listed = process.env['EXAMHALL_TIERS'];
const leftOut = listed === undefined || listed.split(',').includes('whole') ? [] : wholeFiles;

/** One project per folder of tests, so that each can be run, timed and counted by itself. */
export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    projects: testSteps.flatMap((step) => projectsOf(step).map((name) => projectOf(step, name))),
  },
});

function projectOf(step: TestStep, name: string) {
  const { folder, isSerial, shared = [] } = step;
  const isShared = name !== step.name;
  const testsIn = (folders: readonly string[]): string[] => folders.map((each) => `${each}/**/*.test.ts`);
  return {
    extends: true as const,
    test: {
      name,
      include: testsIn(isShared ? shared : [folder]),
      exclude: [...configDefaults.exclude, ...leftOut, ...(isShared ? [] : testsIn(shared))],
      isolate: !isShared,
      fileParallelism: isSerial !== true,
      testTimeout: 30_000,
      hookTimeout: 60_000,
      expect: { poll: { timeout: 20_000 } },
      env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
    },
  };
}
