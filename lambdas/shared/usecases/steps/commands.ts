import { ExamHallError, isErrorNamed } from '#core/errors';
import { jobId as jobIdOf, parseJobId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { CommandRowSchema, WaitRowSchema, type CommandRow } from '#core/rows';
import { COMMAND_ENDS } from '#contracts/events';
import type { CommandStatusDetail } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { sandboxOf } from './attempt-stages.ts';
import { answerFinishedJob } from './finished-jobs.ts';
import { allRows, findRow, readAttempt } from './rows.ts';
import { expectNoEvent } from './waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'tokens' | 'runTree' | 'clock' | 'log'>;

/** Remembers which job a command waits for, for when the cloud tells of the command. */
export async function noteCommand(
  { unitStore, clock }: Pick<Ports, 'unitStore' | 'clock'>,
  commandId: string,
  jobId: string,
): Promise<void> {
  const body: CommandRow = { commandId, jobId, sentAt: clock.now().toISOString() };
  const { attemptId } = parseJobId(jobId);
  await unitStore.write([
    { put: { ...rowKeys.command(commandId), body }, when: 'any' },
    { put: { ...rowKeys.commandOf(attemptId, commandId), body }, when: 'any' },
  ]);
}

/** What is known of the commands of an attempt that has nothing left: no job of it runs any more. */
export async function forgetCommands({ unitStore }: Pick<Ports, 'unitStore'>, attemptId: string): Promise<void> {
  const { pk } = rowKeys.commandOf(attemptId, '');
  for await (const { sk } of allRows(unitStore, { pk })) {
    await unitStore.write([{ remove: rowKeys.command(sk), when: 'any' }]);
    await unitStore.write([{ remove: { pk, sk }, when: 'any' }]);
  }
  const again = rowKeys.commandSentAgain(jobIdOf(attemptId, 'run')).pk;
  for await (const { sk } of allRows(unitStore, { pk: again }))
    await unitStore.write([{ remove: { pk: again, sk }, when: 'any' }]);
}

/** By then a command's row is written, or never will be. An event that failed comes again a minute later. */
export const NOTED_SECONDS = 60;

function isLate(requestedAt: string | undefined, now: Date): boolean {
  return requestedAt !== undefined && now.getTime() - Date.parse(requestedAt) > NOTED_SECONDS * 1000;
}

/**
 * Answers the waiter of the job that a command waited for. A command that ended without its job (not delivered, killed, over
 * its time) is sent again, once for each job; after that, or when it says that all went well, watch-runs looks. A command that
 * is not known and not new is one of an attempt that has nothing left.
 * @throws StoreUnavailableError for a new command that is not known (yet), so that its event comes again.
 */
export async function answerEndedCommand(
  ports: Needs,
  { 'command-id': commandId, 'requested-date-time': requestedAt, status }: CommandStatusDetail,
): Promise<void> {
  if (!COMMAND_ENDS.includes(status)) return;
  const command = await findRow(ports.unitStore, rowKeys.command(commandId), CommandRowSchema);
  if (command === undefined && isLate(requestedAt, ports.clock.now())) return;
  if (command === undefined) {
    const message = `no job is known for command ${commandId}; its event may have come before its row`;
    throw new ExamHallError('StoreUnavailableError', message, { commandId });
  }
  const { jobId } = command.value;
  try {
    if (await answerFinishedJob(ports, jobId)) return;
    if (status === 'Success') await leaveToWatch(ports, command.value, status);
    else await waitAgain(ports, command.value, status);
  } catch (error) {
    if (status === 'Success' || !isErrorNamed(error, 'ChannelUnavailableError')) throw error;
    await leaveToWatch(ports, command.value, status, String(error));
  }
}

/** No other event of the job will come. */
async function leaveToWatch(
  ports: Needs,
  { jobId, commandId }: CommandRow,
  status: string,
  message?: string,
): Promise<void> {
  const key = rowKeys.jobWait(jobId);
  if ((await findRow(ports.unitStore, key, WaitRowSchema)) === undefined) return;
  ports.log.warn('job.not-awaited', { jobId, commandId, status, ...(message === undefined ? {} : { message }) });
  await expectNoEvent(ports, key);
}

async function waitAgain(ports: Needs, command: CommandRow, status: string): Promise<void> {
  const { jobId, commandId } = command;
  const { unitStore } = ports;
  if ((await findRow(unitStore, rowKeys.jobWait(jobId), WaitRowSchema)) === undefined) return;
  try {
    await unitStore.write([{ put: { ...rowKeys.commandSentAgain(jobId), body: command }, when: 'absent' }]);
  } catch (error) {
    if (!isErrorNamed(error, 'ConditionFailedError')) throw error;
    await leaveToWatch(ports, command, status);
    return;
  }
  const { value: attempt } = await readAttempt(unitStore, parseJobId(jobId).attemptId);
  const sandbox = sandboxOf(attempt);
  await ports.channels.for(sandbox).wait(sandbox, jobId);
  ports.log.warn('job.awaited-again', { jobId, commandId, status });
}
