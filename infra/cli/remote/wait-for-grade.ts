import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient, CallAnswer } from './api-client.ts';
import { RemoteError } from './remote-error.ts';

type Grade = CallAnswer<'getUnit'>['attemptList'][number]['grades'][number];

const EVERY_SECONDS = 2;
/** Graders end long before; then the machine itself has failed. */
const LONGEST_SECONDS = 3600;

/** The grade of that number once it is there. @throws RemoteError when it does not come within an hour. */
export async function waitForGrade(
  client: Pick<ApiClient, 'call'>,
  {
    unitId,
    attemptId,
    gradeNumber,
  }: { readonly unitId: string; readonly attemptId: string; readonly gradeNumber: number },
  delay: (milliseconds: number) => Promise<unknown> = sleep,
): Promise<Grade> {
  for (let waited = 0; waited < LONGEST_SECONDS; waited += EVERY_SECONDS) {
    const { attemptList } = await client.call('getUnit', { params: { unitId } });
    const attempt = attemptList.find((each) => each.attemptId === attemptId);
    const grade = attempt?.grades.find(({ number }) => number === gradeNumber);
    if (grade !== undefined) return grade;
    await delay(EVERY_SECONDS * 1000);
  }
  throw new RemoteError(
    'host',
    `${attemptId}: grade ${String(gradeNumber)} has not come within ${String(LONGEST_SECONDS / 60)} minutes; the grade machine's execution says why`,
  );
}
