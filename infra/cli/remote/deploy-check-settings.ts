import path from 'node:path';
import { fail, pass, unverified, type DeployCheck } from './deploy-check.ts';

/** What settings say that can be compared with an account. */
export interface CheckedSettings {
  readonly checks: readonly DeployCheck[];
  readonly stage: string | null;
  readonly vCpuCap: number | null;
}

/** The offline part: a settings file as synthesis would judge it, with the routes of its network. */
export async function settingsChecks(file: string): Promise<CheckedSettings> {
  const { loadSettings } = await import('../../config/load-settings.ts');
  const settings = path.resolve(file);
  try {
    const { stage, network, policy } = loadSettings({ CDK_CONTEXT_JSON: JSON.stringify({ settings }) });
    const { caps } = policy;
    const vCpuCap = caps.vCpusByProvider['aws'] ?? null;
    const profiles = network.profiles.join(', ');
    return {
      stage,
      vCpuCap,
      checks: [
        {
          name: 'settings',
          ...pass(`${file}: stage ${stage}, up to ${String(caps.sweepConcurrency)} units of a sweep at once`),
        },
        {
          name: 'routes',
          ...pass(`every sandbox of ${profiles} has a route to what it needs, as far as the settings tell`),
        },
        {
          name: 'images',
          ...unverified(
            'sandboxes in EC2, and the images they start from, are not part of this version',
            'run sweeps on a computer, with `examhall serve`',
          ),
        },
        vCpuCap === null
          ? {
              name: 'caps',
              state: 'warn',
              found: 'policy.caps.vCpusByProvider has no "aws": nothing but the quota bounds what runs at once',
              remedy: 'set it, at most to the quota L-1216C47A',
            }
          : { name: 'caps', ...pass(`at most ${String(vCpuCap)} vCPUs at once`) },
      ],
    };
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'SettingsError') throw error;
    return { stage: null, vCpuCap: null, checks: [{ name: 'settings', ...fail(error.message, 'correct the file') }] };
  }
}
