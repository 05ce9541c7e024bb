import { readFileSync } from 'node:fs';
import path from 'node:path';
import { rulesOfGroups } from './hostile-network.ts';
import { Deployment } from './deployment.ts';
import type { Statement } from './iam-evaluator.ts';
import { networkModel } from './network-model.ts';
import { appForTests } from './synth.ts';
import { resourceNamed } from './template.ts';

const METADATA_RULES = path.resolve(import.meta.dirname, '../../images/ubuntu-desktop/files/metadata.nft');

/** What keeps a guest from everything else, as a deployment and an image have it. */
export interface Walls {
  /** Security groups, as rules for the provider's side of a network. */
  readonly groups: string;
  /** Of a sandbox's role. */
  readonly role: readonly Statement[];
  /** Rules of the guest itself. */
  readonly metadata: string;
}

/** The walls of the templates and of the Linux image. A machine named `loose` stands in the group of sandboxes too. */
export function wallsOfDeployment(): Walls {
  const deployment = new Deployment(appForTests());
  const template = deployment.templates.get('network');
  const groupOf = (prefix: string): string => resourceNamed(template, 'AWS::EC2::SecurityGroup', prefix).id;
  const sandboxes = groupOf('SandboxGroupopen');
  const places = { sandbox: sandboxes, sibling: sandboxes, loose: sandboxes, caller: groupOf('Call'), stranger: null };
  return {
    groups: rulesOfGroups(networkModel(template), places),
    role: deployment.statementsOf('SandboxRole'),
    metadata: readFileSync(METADATA_RULES, 'utf8'),
  };
}
