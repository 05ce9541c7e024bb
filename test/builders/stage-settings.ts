import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NetworkSettings } from '../../infra/config/network-settings.ts';
import { parseSettings } from '../../infra/config/load-settings.ts';
import type { StageSettings } from '../../infra/config/settings.ts';

const STAGES = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..', 'infra', 'config', 'stages');

/** The document of a stage that the repository ships. */
export function stageDocument(name: 'default' | 'example'): unknown {
  return JSON.parse(readFileSync(path.join(STAGES, `${name}.json`), 'utf8')) as unknown;
}

/** Valid settings: a VPC of their own, with every profile. */
export function stageSettings(changes: Partial<StageSettings> = {}): StageSettings {
  const settings = parseSettings(stageDocument('default'), 'default.json');
  const network: NetworkSettings = { ...settings.network, profiles: ['open', 'sealed'] };
  return { ...settings, network, ...changes };
}

/** Settings as `example.json` has them: everything brought along. */
export function exampleSettings(): StageSettings {
  return parseSettings(stageDocument('example'), 'example.json');
}
