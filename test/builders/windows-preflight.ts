import { GUEST_PATHS } from '#core/boot-script';
import type { PreflightFacts } from '#core/preflight-check';

/** What a preflight of a Windows sandbox knows, with nothing missing. */
export const windowsPreflight: PreflightFacts = {
  ...{ region: 'eu-west-1', stage: 'default', privilege: 'restricted', node: GUEST_PATHS.windows.runnerNode },
  ...{ runner: GUEST_PATHS.windows.runner, runnerKey: GUEST_PATHS.windows.keyFile, jobs: GUEST_PATHS.windows.jobsDir },
  ...{
    artifacts: 'artifacts',
    references: 'references',
    table: 'table',
    runDocument: 'run',
    otherAttemptKey: 'a/b.txt',
  },
  ...{
    changedLink: 'https://h/?x=1',
    siblingAddress: '10.0.0.9',
    publicAddress: '203.0.113.9',
    tokenStart: 'AAAAKgAAAA',
  },
  endpoint: null,
};
