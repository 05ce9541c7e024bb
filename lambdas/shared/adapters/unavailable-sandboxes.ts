import { ExamHallError } from '#core/errors';
import type { Channels, Providers } from '#ports/ports';

const CLOUDS: readonly string[] = ['gcp', 'gcloud', 'alibaba', 'aliyun'];

const OURS: readonly string[] = ['aws', 'static'];

/** Why a provider has no machine in a deployment. */
function reasonOf(provider: string): string {
  if (OURS.includes(provider))
    return `provider ${provider} is not among what this function declares; add it to its needs in #contracts/functions`;
  if (CLOUDS.includes(provider)) return `provider ${provider} comes with other clouds; not in this version`;
  return `provider ${provider} works only on one computer; run the experiment with \`examhall run\` there`;
}

function refusal(provider: string): ExamHallError {
  return new ExamHallError('SandboxRefusedError', reasonOf(provider), { provider });
}

/** Providers that a deployment has no machines of: it knows none, and refuses each by name. */
export function createUnavailableProviders(): Providers {
  return {
    get: (name) => {
      throw refusal(name);
    },
    all: () => [],
  };
}

/** Channels to such sandboxes. */
export function createUnavailableChannels(): Channels {
  return {
    for: ({ provider }) => {
      throw refusal(provider);
    },
  };
}
