import { ExamHallError } from '#core/errors';
import type { SandboxSpec } from '#ports/sandbox-provider';

/** Refuses what a `process` sandbox cannot give. @throws SandboxRefusedError naming every such wish. */
export function checkProcessSpec(spec: SandboxSpec): void {
  const knobs = Object.keys(spec.knobs);
  const wishes = [
    spec.os === 'linux' ? [] : [`os ${spec.os} (allowed: linux)`],
    spec.gpu ? ['a GPU'] : [],
    spec.network === 'open' ? [] : [`network ${spec.network} (allowed: open; it shares the network of this computer)`],
    spec.privilege === 'restricted'
      ? []
      : [`privilege ${spec.privilege} (allowed: restricted; sudo here would be sudo on this computer)`],
    knobs.length === 0 ? [] : [`the settings ${knobs.sort().join(', ')} (allowed: none)`],
  ].flat();
  if (wishes.length === 0) return;
  throw new ExamHallError(
    'SandboxRefusedError',
    `snapshot ${JSON.stringify(spec.snapshot)}: provider process cannot give ${wishes.join('; ')}. Use a provider with machines of its own, or change the request`,
    { provider: 'process', snapshot: spec.snapshot, wishes },
  );
}
