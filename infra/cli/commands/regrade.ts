import { Command } from 'commander';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { openClient, print } from '#cli/remote/open-client';

interface RegradeOptions extends HostOptions {
  readonly wait?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall regrade <unit> --stage prod
  examhall regrade <unit> --wait --host http://127.0.0.1:7878 --json

Each call makes a new grade beside the earlier ones; none is ever changed.`;

/** `examhall regrade <unit>` */
export function regradeCommand(): Command {
  const command = new Command('regrade')
    .description('Grade the collected output of a closed unit again.')
    .argument('<unit>', 'unit id')
    .option('--wait', 'wait for the grade and print it')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (unitId: string, options: RegradeOptions) => {
    const client = await openClient(options);
    const started = await client.call('regradeUnit', { params: { unitId } });
    const { attemptId, gradeNumber } = started;
    if (options.wait !== true) {
      print(options.json, started, () => `${attemptId}: grade ${String(gradeNumber)} is being made`);
      return;
    }
    const { waitForGrade } = await import('#cli/remote/wait-for-grade');
    const grade = await waitForGrade(client, started);
    print(
      options.json,
      { ...started, grade },
      () => `${attemptId}: grade ${String(gradeNumber)} is ${gradeText(grade)}`,
    );
  });
}

function gradeText({
  kind,
  score,
  reason,
}: {
  readonly kind: string;
  readonly score: number | null;
  readonly reason: string | null;
}): string {
  return kind === 'graded' ? String(score) : `${kind}: ${reason ?? 'no reason given'}`;
}
