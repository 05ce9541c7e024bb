import { ApiRefusal } from '#core/api-refusal';
import { messageOfCause } from '#core/attempt-verdict';
import { objectKeys } from '#core/keys';
import type { Permission } from '#core/policy';
import type { AttemptRow } from '#core/rows';
import { CommittedGradeSchema, type ToldGrade } from '#contracts/api-record-files';
import type { UnitDetail } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import { isErrorNamed } from '#core/errors';
import { LINK_SECONDS } from './api-links.ts';
import { recordFiles, type FilesAsked } from './api-record-files.ts';
import { knownUnit, unitSummary } from './api-units.ts';
import { openStage, waitsForOf } from './api-waits-for.ts';
import { storedSandbox } from './attempt-stages.ts';
import { attemptsOf } from './rows.ts';
import { teardownRows } from './teardown.ts';
import { outcomeOfRow, verdictOfRow } from './verdicts.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'clock' | 'policy' | 'digest'>;
type AttemptDetail = UnitDetail['attemptList'][number];

/** Answers of a function end at six megabytes; all else that an answer says of a unit fits into the rest. */
const MOST_LINK_BYTES = 4_500_000;
const MOST_ATTEMPTS = 20;
const MOST_GRADES = 100;

/**
 * One unit with its newest attempts, what each left behind, and what it waits for.
 * @throws ApiRefusal NotFoundError; InvalidRequestError for a cursor without its attempt.
 */
export async function unitDetail(
  unitId: string,
  asked: { readonly attempt?: number | undefined; readonly cursor?: string | undefined; readonly limit: number },
  permissions: ReadonlySet<Permission>,
  ports: Needs,
): Promise<UnitDetail> {
  const { attempt: number, cursor, limit } = asked;
  if (cursor !== undefined && number === undefined) {
    const problem = { path: 'query.cursor', message: 'continues the files of one attempt: give attempt with it' };
    throw new ApiRefusal('InvalidRequestError', `query.cursor ${problem.message}`, [problem]);
  }
  const unit = await knownUnit(ports, unitId);
  const attempts = await attemptsOf(ports.unitStore, unitId);
  const shown = attempts.filter(({ attempt }) => number === undefined || attempt === number).slice(-MOST_ATTEMPTS);
  if (number !== undefined && shown.length === 0) {
    throw new ApiRefusal(
      'NotFoundError',
      `unit ${unitId} has no attempt ${String(number)}; it has ${String(attempts.length)}`,
    );
  }
  const maxBytes = Math.floor(MOST_LINK_BYTES / Math.max(shown.length, 1));
  const files: FilesAsked = { permissions, cursor, limit, maxBytes };
  const attemptList: AttemptDetail[] = [];
  for (const attempt of shown) attemptList.push(await attemptDetail(attempt, files, ports));
  return {
    ...unitSummary(unit),
    winningAttemptId: unit.winningAttemptId,
    attemptList,
    waitsFor: await waitsForOf(unit, attempts.at(-1) ?? null, ports),
    linksExpireAt: new Date(ports.clock.now().getTime() + LINK_SECONDS * 1000).toISOString(),
  };
}

async function attemptDetail(attempt: AttemptRow, asked: FilesAsked, ports: Needs): Promise<AttemptDetail> {
  const { attemptId, grantedAt, closedAt, error, runDir } = attempt;
  const verdict = closedAt === null ? null : verdictOfRow(attempt);
  const rows = await teardownRows(ports, attemptId);
  return {
    attemptId,
    grantedAt,
    closedAt,
    stage: openStage(attempt),
    outcome: outcomeOfRow(attempt)?.kind ?? null,
    blame: verdict?.blame ?? null,
    signatureId: verdict?.signatureId ?? null,
    error: error === null ? null : `${error.name}: ${messageOfCause(error.message)}`,
    sandboxId: storedSandbox(attempt)?.sandboxId ?? null,
    teardown: rows.map(({ kind, resourceId, goneAt, end, why }) => ({ kind, resourceId, goneAt, end, why })),
    grades: await gradesOf(attempt, ports),
    runDir,
    ...(await recordFiles(attempt, asked, ports)),
  };
}

/** Every grade that was committed, by number; one that is still being made is not there yet. */
async function gradesOf({ attemptId, gradeNumber }: AttemptRow, ports: Needs): Promise<AttemptDetail['grades']> {
  const grades: AttemptDetail['grades'] = [];
  for (let number = 1; number <= Math.min(gradeNumber, MOST_GRADES); number += 1) {
    const grade = await readGrade(objectKeys.grade(attemptId, number), ports);
    if (grade === null) continue;
    const isGraded = grade.kind === 'graded';
    grades.push({
      number,
      kind: grade.kind,
      score: isGraded ? grade.score : null,
      reason: isGraded ? null : grade.reason,
    });
  }
  return grades;
}

async function readGrade(key: string, { artifacts }: Needs): Promise<ToldGrade | null> {
  try {
    const bytes = await artifacts.get({ bucket: 'artifacts', key });
    return CommittedGradeSchema.safeParse(JSON.parse(new TextDecoder().decode(bytes))).data?.grade ?? null;
  } catch (error) {
    if (isErrorNamed(error, 'ObjectNotFoundError')) return null;
    throw error;
  }
}
