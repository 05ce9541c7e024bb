import type { Command } from 'commander';
import { agentsCommand } from '#cli/commands/agents';
import { cancelCommand } from '#cli/commands/cancel';
import { costsCommand } from '#cli/commands/costs';
import { demoCommand } from '#cli/commands/demo';
import { deployCheckCommand } from '#cli/commands/deploy-check';
import { doctorCommand } from '#cli/commands/doctor';
import { fetchCommand } from '#cli/commands/fetch';
import { imagesCommand } from '#cli/commands/images';
import { listCommand } from '#cli/commands/list';
import { logsCommand } from '#cli/commands/logs';
import { pauseCommand } from '#cli/commands/pause';
import { preflightCommand } from '#cli/commands/preflight';
import { pricesCommand } from '#cli/commands/prices';
import { regradeCommand } from '#cli/commands/regrade';
import { resumeCommand } from '#cli/commands/resume';
import { runCommand } from '#cli/commands/run';
import { sandboxesCommand } from '#cli/commands/sandboxes';
import { serveCommand } from '#cli/commands/serve';
import { setupCommand } from '#cli/commands/setup';
import { showCommand } from '#cli/commands/show';
import { statusCommand } from '#cli/commands/status';
import { stopCommand } from '#cli/commands/stop';
import { tasksCommand } from '#cli/commands/tasks';
import { unitsCommand } from '#cli/commands/units';
import { verifyCommand } from '#cli/commands/verify';
import { watchCommand } from '#cli/commands/watch';
import { whyCommand } from '#cli/commands/why';

/** Every command, in the order that help and documentation list them. */
export const COMMANDS: readonly (() => Command)[] = [
  runCommand,
  demoCommand,
  serveCommand,
  listCommand,
  showCommand,
  verifyCommand,
  tasksCommand,
  agentsCommand,
  statusCommand,
  watchCommand,
  unitsCommand,
  logsCommand,
  whyCommand,
  pauseCommand,
  resumeCommand,
  cancelCommand,
  stopCommand,
  sandboxesCommand,
  regradeCommand,
  fetchCommand,
  costsCommand,
  pricesCommand,
  imagesCommand,
  deployCheckCommand,
  preflightCommand,
  doctorCommand,
  setupCommand,
];
