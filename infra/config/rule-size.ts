import { taggedAtLaunch } from '../constructs/sandbox-tags.ts';

/** IAM's bound on the characters of a managed policy. */
const POLICY_LETTERS = 6144;
/** What a launch rule says beside the tags: actions, resources and every other condition. */
const OTHER_LETTERS = 1200;

interface LaunchTagSettings {
  readonly stage: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly policy: { readonly costCenters: readonly string[] };
}

interface SizeProblem {
  readonly path: readonly string[];
  readonly message: string;
}

/** Why IAM would not take the rule that a sandbox is launched with every tag and no other. */
export function ruleProblems({ stage, tags, policy }: LaunchTagSettings): readonly SizeProblem[] {
  const { costCenters } = policy;
  const letters = JSON.stringify(taggedAtLaunch({ stage, costCenters, tags })).length;
  const room = POLICY_LETTERS - OTHER_LETTERS;
  if (letters <= room) return [];
  const message = `with the cost centers they take ${String(letters)} characters of the rule on how sandboxes are tagged; ${String(room)} have room in it (IAM allows a policy 6144): use fewer or shorter tags, or fewer cost centers`;
  return [{ path: ['tags'], message }];
}
