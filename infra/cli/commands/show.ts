import path from 'node:path';
import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import type { AttemptRow } from '#core/rows';
import type { FoundUnit } from '#local/find-unit';

interface ShowOptions {
  readonly root: string;
  readonly json?: boolean;
}

/** `examhall show <unit>` */
export function showCommand(): Command {
  return new Command('show')
    .description(
      'Show a unit: its class, every attempt with blame and error, what it made and when that was seen gone.',
    )
    .argument('<unit>', 'unit id, attempt id, or part of one that only one unit has')
    .option('--root <folder>', 'folder that holds the experiments', '.logs/ale')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExamples:\n  examhall show demo__oracle__unknown-model__business_finance__form_1040__v0\n  examhall show form_1040__v0 --root .logs/ale',
    )
    .action(async (unit: string, options: ShowOptions) => {
      process.exitCode = await show(unit, options);
    });
}

async function show(wanted: string, options: ShowOptions): Promise<number> {
  const { findUnits } = await import('#local/find-unit');
  const found = await findUnits(path.resolve(options.root), wanted);
  const [only, ...others] = found;
  if (only === undefined) {
    process.stderr.write(
      `no unit matches ${JSON.stringify(wanted)} below ${options.root}; give --root, or an id as the run prints it\n`,
    );
    return EXIT.badInput;
  }
  if (others.length > 0) {
    const ids = found.map(({ unit }) => `  ${unit.unitId}`).join('\n');
    process.stderr.write(
      `${String(found.length)} units match ${JSON.stringify(wanted)}; give more of the id:\n${ids}\n`,
    );
    return EXIT.badInput;
  }
  process.stdout.write(options.json === true ? `${JSON.stringify(only)}\n` : textOf(only));
  return EXIT.done;
}

function textOf({ unit, attempts, treeRoot }: FoundUnit): string {
  const score = unit.score === null ? 'no score' : `score ${String(unit.score)}`;
  const lines = [
    unit.unitId,
    `  ${unit.agentId} (${unit.model ?? 'no model'})  ${unit.taskPath}  v${String(unit.variant)}  trial ${String(unit.trial)}`,
    `  ${unit.class}${unit.notRunReason === null ? '' : ` (${unit.notRunReason})`}, ${unit.status}, ${score}`,
  ];
  for (const { attempt, teardown } of attempts) {
    lines.push(
      `attempt ${String(attempt.attempt)}  granted ${attempt.grantedAt}  closed ${attempt.closedAt ?? 'not yet'}`,
    );
    if (attempt.outcome !== null) lines.push(`  outcome: ${JSON.stringify(attempt.outcome)}`);
    if (attempt.grade !== null) lines.push(`  grade:   ${JSON.stringify(attempt.grade)}`);
    if (attempt.screen !== null) lines.push(`  screen:  ${screenText(attempt.screen)}`);
    if (attempt.error !== null)
      lines.push(`  error:   ${attempt.error.name} in ${attempt.error.state}: ${attempt.error.message}`);
    if (attempt.verdict !== null)
      lines.push(`  verdict: ${String(attempt.verdict['blame'])}, ${String(attempt.verdict['signatureId'])}`);
    for (const row of teardown)
      lines.push(
        `  made ${row.kind} ${row.resourceId}: ${row.end ?? 'still there'} ${row.goneAt ?? ''}${row.why === null ? '' : ` (${row.why})`}`,
      );
    if (attempt.runDir !== null) lines.push(`  record:  ${path.join(treeRoot, attempt.runDir, 'record.json')}`);
  }
  return `${lines.join('\n')}\n`;
}

function screenText({ screenshots, hasFinal, guiEvents }: NonNullable<AttemptRow['screen']>): string {
  const final = hasFinal ? 'and one after the agent had ended' : 'none after the agent had ended';
  const events = guiEvents === null ? 'no gui_events.jsonl' : `${String(guiEvents)} GUI events (reported by the agent)`;
  return `${String(screenshots)} screenshots of steps, ${final}; ${events}`;
}
