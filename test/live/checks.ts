import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { DescribeExecutionCommand, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { readDeploymentOutputs } from '#adapters/ssm-parameters';
import type { DeploymentOutputs } from '#contracts/deployment-outputs';
import { LIVE_SWEEPS, runLiveSweep } from './sweeps.ts';

export interface Deployed {
  readonly stage: string;
  readonly region: string;
  readonly accountId: string;
  readonly principalArn: string;
  /** Of the repository. */
  readonly root: string;
}

interface LiveCheck {
  readonly name: string;
  /** @throws Error saying what was seen instead. */
  readonly run: (deployed: Deployed) => Promise<void>;
}

const CLI_TIMEOUT_MS = 600_000;
const FAILURE_SECONDS = 120;

/** What an account shows and no emulator does; each fails by throwing. */
export const checks: readonly LiveCheck[] = [
  {
    name: 'the deployment tells where its API is',
    run: async (deployed) => {
      const { apiUrl, region } = await outputsOf(deployed);
      expectThat(region === deployed.region && apiUrl.startsWith('https://'), `${region}, ${apiUrl}`);
    },
  },
  {
    name: 'the API refuses a request that nobody signed',
    run: async (deployed) => {
      const { status } = await fetch(`${(await outputsOf(deployed)).apiUrl}/sweeps`);
      expectThat(status === 403, `status ${String(status)}`);
    },
  },
  {
    name: 'the API answers a signed request, and knows no sweep yet',
    run: async (deployed) => {
      const answer = await cli(deployed, ['status', '--json']);
      expectThat(answer.code === 0, answer.text);
    },
  },
  {
    name: 'deploy-check finds nothing wrong with the deployment',
    run: async (deployed) => {
      const answer = await cli(deployed, ['deploy-check', '--json']);
      expectThat(answer.code === 0, answer.text);
    },
  },
  {
    name: 'a task and an agent are published, the task twice without uploading again',
    run: async (deployed) => {
      for (const words of [
        ['tasks', 'publish', 'demo/hello'],
        ['agents', 'publish', 'scripted', 'oracle'],
        ['tasks', 'publish', 'demo/hello'],
      ]) {
        const answer = await cli(deployed, words);
        expectThat(answer.code === 0, answer.text);
      }
    },
  },
  {
    name: 'the sweep machine starts by its alias, and a failed execution is seen',
    run: async (deployed) => {
      const { machines } = await outputsOf(deployed);
      const sfn = new SFNClient({ region: deployed.region });
      const { executionArn } = await sfn.send(
        new StartExecutionCommand({
          stateMachineArn: machines.sweep,
          input: JSON.stringify({ sweepId: 'live', run: 1 }),
        }),
      );
      const deadline = Date.now() + FAILURE_SECONDS * 1000;
      for (;;) {
        const { status, error } = await sfn.send(new DescribeExecutionCommand({ executionArn }));
        if (status === 'FAILED') return;
        expectThat(status === 'RUNNING' && Date.now() < deadline, `${String(status)} ${String(error)}`);
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    },
  },
  ...LIVE_SWEEPS.map((sweep) => ({
    name: `one unit of demo/hello boots, is scored and released on ${sweep.image}`,
    run: async (deployed: Deployed) => {
      await runLiveSweep(
        sweep,
        deployed.region,
        async (words, minutes) => await cli(deployed, words, minutes * 60_000),
      );
    },
  })),
];

function expectThat(holds: boolean, seen: string): asserts holds {
  if (!holds) throw new Error(`seen: ${seen.slice(0, 2000)}`);
}

async function outputsOf({ stage, region }: Deployed): Promise<DeploymentOutputs> {
  const outputs = await readDeploymentOutputs(stage, { region });
  if (outputs === undefined) throw new Error(`no parameter of stage ${stage}`);
  return outputs;
}

async function cli(
  { root, stage, region }: Deployed,
  words: readonly string[],
  timeout = CLI_TIMEOUT_MS,
): Promise<{ readonly code: number; readonly text: string }> {
  const program = path.join(root, 'infra', 'cli', 'examhall.mjs');
  const args = [program, ...words, '--stage', stage, '--region', region];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout });
    return { code: 0, text: stdout };
  } catch (error) {
    const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: unknown };
    return { code: typeof code === 'number' ? code : -1, text: String(stderr) };
  }
}
