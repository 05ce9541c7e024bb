import type { Command } from 'commander';
import { demoCommand } from '#cli/commands/demo';
import { doctorCommand } from '#cli/commands/doctor';
import { listCommand } from '#cli/commands/list';
import { runCommand } from '#cli/commands/run';
import { setupCommand } from '#cli/commands/setup';
import { showCommand } from '#cli/commands/show';
import { verifyCommand } from '#cli/commands/verify';

/** Every command, in the order that help and documentation list them. */
export const COMMANDS: readonly (() => Command)[] = [
  runCommand,
  demoCommand,
  listCommand,
  showCommand,
  verifyCommand,
  doctorCommand,
  setupCommand,
];
