import { statSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { ConfigError, problemAt } from '#core/located';

/** `examhall verify <record>` */
export function verifyCommand(): Command {
  return new Command('verify')
    .description(
      'Check a record offline: every file of its run folder against the hashes and schemas. Names what was changed.',
    )
    .argument('<record...>', 'run folder, or its record.json; several may be given')
    .option('--sha256 <hash>', 'the record hash that a report or the unit store holds')
    .option('--json', 'print one JSON object per record')
    .addHelpText(
      'after',
      '\nExamples:\n  examhall verify .logs/ale/demo/oracle/unknown-model/business_finance__form_1040/v0/20260102_030405\n  examhall verify record.json --sha256 1f3a...',
    )
    .action(async (records: readonly string[], options: { readonly sha256?: string; readonly json?: boolean }) => {
      const { verifyRunFolder } = await import('#local/verify-run-folder');
      for (const record of records) refuseOtherFile(record);
      let isGood = true;
      for (const record of records) {
        const folder = path.basename(record) === 'record.json' ? path.dirname(record) : record;
        const problems = await verifyRunFolder(path.resolve(folder), options.sha256);
        isGood = isGood && problems.length === 0;
        if (options.json === true)
          process.stdout.write(`${JSON.stringify({ record: folder, good: problems.length === 0, problems })}\n`);
        else if (problems.length === 0) process.stdout.write(`${folder}: good\n`);
        else
          for (const { path: file, kind, message } of problems)
            process.stdout.write(`${folder}/${file}: ${kind}: ${message}\n`);
      }
      process.exitCode = isGood ? EXIT.done : EXIT.notAllCompleted;
    });
}

/** A folder without a record is a finding; a path that is none, or another file, is a mistake of the caller. */
function refuseOtherFile(record: string): void {
  const isRecord = path.basename(record) === 'record.json';
  const found = statSync(isRecord ? path.dirname(record) : record, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  const problem = problemAt(
    { file: 'command line', line: 1, column: 1 },
    {
      what: found === undefined ? 'no such run folder' : 'not a run folder',
      got: JSON.stringify(record),
      allowed: 'a run folder, or its record.json',
      action: 'give the folder that a report or `examhall show` names',
    },
  );
  throw new ConfigError([problem]);
}
