import { DescribeInstancesCommand, EC2Client, TerminateInstancesCommand } from '@aws-sdk/client-ec2';
import type { CloudConfig, Leftover } from './tear-down.ts';

const LOOK_SECONDS = 10;
const LOOKS = 60;

interface Wait {
  readonly delay: (seconds: number) => Promise<unknown>;
}

const realWait: Wait = {
  delay: async (seconds) => await new Promise((resolve) => setTimeout(resolve, seconds * 1000)),
};

/**
 * Ends every machine of a stage, by its tag, and looks until none is there: subnets with machines in them cannot be removed.
 * @returns those that were not seen gone.
 */
export async function endMachines(
  stage: string,
  config: CloudConfig,
  { delay }: Wait = realWait,
): Promise<readonly Leftover[]> {
  const ec2 = new EC2Client(config);
  try {
    for (let look = 0; look < LOOKS; look += 1) {
      const ids = await machinesOf(stage, ec2);
      if (ids.length === 0) return [];
      for (const id of ids) await ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] })).catch(() => undefined);
      await delay(LOOK_SECONDS);
    }
    return (await machinesOf(stage, ec2)).map((id) => ({ what: `machine ${id}`, why: 'it was not seen terminated' }));
  } catch (error) {
    return [{ what: `machines of stage ${stage}`, why: String(error) }];
  } finally {
    ec2.destroy();
  }
}

async function machinesOf(stage: string, ec2: EC2Client): Promise<readonly string[]> {
  const ids: string[] = [];
  let NextToken: string | undefined;
  do {
    const page = await ec2.send(
      new DescribeInstancesCommand({
        Filters: [
          { Name: 'tag:examhall:stage', Values: [stage] },
          { Name: 'instance-state-name', Values: ['pending', 'running', 'shutting-down', 'stopping', 'stopped'] },
        ],
        ...(NextToken === undefined ? {} : { NextToken }),
      }),
    );
    const instances = (page.Reservations ?? []).flatMap(({ Instances = [] }) => Instances);
    ids.push(...instances.flatMap(({ InstanceId }) => InstanceId ?? []));
    NextToken = page.NextToken;
  } while (NextToken !== undefined);
  return ids;
}
