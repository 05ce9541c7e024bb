import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { EC2Client } from '@aws-sdk/client-ec2';
import { SSMClient } from '@aws-sdk/client-ssm';
import type { AdoptionWish } from '#core/image-adoption';
import { clientOptions, openAwsSession } from '#cli/remote/aws-session';
import type { HostOptions } from '#cli/remote/host-options';
import { outputsOfStage } from '#cli/remote/stage-outputs';
import { adoptImage, type Adopted } from './adopt-image.ts';
import { createAdoptionCloud } from './adoption-cloud.ts';
import { publishBootArchive } from './boot-archive.ts';
import { untilInterrupted } from './interrupted.ts';
import { createMachineShell } from './machine-shell.ts';
import { sandboxSettingsOf } from './stage-sandboxes.ts';

/** Adopts an image with the credentials of whoever calls, into what a stage's deployment says. */
export async function adoptForStage(wish: AdoptionWish & HostOptions & { readonly stage: string }): Promise<Adopted> {
  const session = await openAwsSession(wish, process.env);
  const settings = await sandboxSettingsOf(wish.stage, session);
  const { buckets } = await outputsOfStage(wish.stage, session);
  const ec2 = new EC2Client(clientOptions(session));
  const ssm = new SSMClient(clientOptions(session));
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  try {
    return await untilInterrupted(tell, async (signal) => {
      const delay = async (seconds: number): Promise<void> => await sleep(seconds * 1000);
      const pause = async (seconds: number): Promise<void> => await sleep(seconds * 1000, undefined, { signal });
      const adoption = {
        ...wish,
        adoptionId: randomBytes(4).toString('hex'),
        region: session.region,
        settings,
        archive: async () => await publishBootArchive(buckets.tasks, session),
      };
      const tools = {
        cloud: createAdoptionCloud(ec2, { delay, pause }),
        shell: createMachineShell({ client: ssm, delay: pause }),
        tell,
        nowIso: () => new Date().toISOString(),
        signal,
      };
      return await adoptImage(adoption, tools);
    });
  } finally {
    ec2.destroy();
    ssm.destroy();
  }
}
