import { configDefaults, defineConfig } from 'vitest/config';
import { testSteps } from './runner/steps.ts';
import { wholeFiles } from './runner/whole.ts';

const listed = process.env['EXAMHALL_TIERS'];
const leftOut = listed === undefined || listed.split(',').includes('whole') ? [] : wholeFiles;

/** One project per folder of tests, so that each can be run, timed and counted by itself. */
export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    projects: testSteps.map((step) => ({
      extends: true as const,
      test: {
        name: step.name,
        include: [`${step.folder}/**/*.test.ts`],
        exclude: [...configDefaults.exclude, ...leftOut],
        fileParallelism: step.isSerial !== true,
        testTimeout: 30_000,
        hookTimeout: 60_000,
        expect: { poll: { timeout: 20_000 } },
        env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
      },
    })),
  },
});
