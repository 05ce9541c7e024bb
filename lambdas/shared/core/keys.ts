import { parseAttemptId, parseJobId, type JobPurpose } from '#core/ids';

/** Keys of the unit store's rows. Nothing else builds one. */
export const rowKeys = {
  sweep: (sweepId: string) => ({ pk: `sweep#${sweepId}`, sk: 'sweep' }),
  /** One row for each sweep that has not been reported yet. */
  activeSweep: (sweepId: string) => ({ pk: 'active-sweeps', sk: sweepId }),
  /** One row for each sweep there ever was. */
  knownSweep: (sweepId: string) => ({ pk: 'sweeps', sk: sweepId }),
  unit: (sweepId: string, unitId: string) => ({ pk: `sweep#${sweepId}`, sk: `unit#${unitId}` }),
  attempt: (attemptId: string) => {
    const { unitId, attempt } = parseAttemptId(attemptId);
    return { pk: `unit#${unitId}`, sk: `attempt#${String(attempt).padStart(6, '0')}` };
  },
  /** Present from admission until the unit is closed: what a crash or a failed execution left behind. */
  openAttempt: (attemptId: string) => ({ pk: 'open-attempts', sk: attemptId }),
  teardown: (attemptId: string, kind: string, resourceId: string) => ({
    pk: `teardown#${attemptId}`,
    sk: `${kind}#${resourceId}`,
  }),
  /** One row for each sandbox that was left running and is ours no more. */
  detached: (sandboxId: string) => ({ pk: 'detached', sk: sandboxId }),
  admitWait: (sweepId: string, unitId: string) => ({ pk: `wait#admit#${sweepId}`, sk: unitId }),
  jobWait: (jobId: string) => ({ pk: 'wait#job', sk: jobId }),
  sandboxWait: (attemptId: string) => ({ pk: 'wait#sandbox', sk: attemptId }),
  gradeWait: (gradeId: string) => ({ pk: 'wait#grade', sk: gradeId }),
  closeWait: (unitId: string) => ({ pk: 'wait#close', sk: unitId }),
  /** Held until nothing of the attempt counts against a quota any more, also while the next attempt of its unit runs. */
  slot: (attemptId: string) => ({ pk: 'slots', sk: attemptId }),
  slotCounters: () => ({ pk: 'slot-counters', sk: 'all' }),
  /** Costs of attempts that were closed on that UTC day, `YYYY-MM-DD`. */
  usage: (day: string, attemptId: string) => ({ pk: `usage#${day}`, sk: attemptId }),
  /** The launch that an attempt noted last, before it was sent. */
  launch: (attemptId: string) => ({ pk: 'launches', sk: attemptId }),
  /** A pool that had no machine; the provider is part of it. */
  coolingPool: (provider: string, pool: string) => ({ pk: `cooling-pools#${provider}`, sk: pool }),
  /** Slows grants for a provider whose quota refused a launch. */
  launchBrake: (provider: string) => ({ pk: 'launch-brakes', sk: provider }),
  /** The job that a command of the cloud waits for. */
  command: (commandId: string) => ({ pk: 'commands', sk: commandId }),
  /** The same by attempt, for when it is over. */
  commandOf: (attemptId: string, commandId: string) => ({ pk: `commands#${attemptId}`, sk: commandId }),
  /** A command that ended before its job did was sent again for it, which is done once. */
  commandSentAgain: (jobId: string) => ({ pk: `commands-sent-again#${parseJobId(jobId).attemptId}`, sk: jobId }),
  /** What is known of an attachment to a machine that was given by its address. */
  staticAttachment: (sandboxId: string) => ({ pk: 'static-attachments', sk: sandboxId }),
  /** Which attachment has the machine at an address. */
  staticLock: (endpoint: string) => ({ pk: 'static-locks', sk: endpoint }),
  sighting: (sandboxId: string) => ({ pk: 'sightings', sk: sandboxId }),
  /** The revision of a task or agent that was published last. */
  publishedTask: (taskId: string) => ({ pk: 'tasks', sk: taskId }),
  publishedAgent: (agentId: string) => ({ pk: 'agents', sk: agentId }),
  /** What an idempotency key of a principal has started; the hash is over both. */
  idempotency: (sha256: string) => ({ pk: `idempotency#${sha256}`, sk: 'request' }),
} as const;

export const rowPrefixes = { unit: 'unit#', attempt: 'attempt#' } as const;

/** Keys of objects in the artifacts bucket. */
export const objectKeys = {
  request: (sweepId: string, run: number) => `sweeps/${sweepId}/r${String(run)}/request.json`,
  plan: (sweepId: string, run: number) => `sweeps/${sweepId}/r${String(run)}/plan.jsonl`,
  mapResults: (sweepId: string, run: number) => `sweeps/${sweepId}/r${String(run)}/map`,
  report: (sweepId: string) => `sweeps/${sweepId}/report.html`,
  /** A file of the run tree, for hosts that keep it in the bucket; the other host serves it under the same key. */
  run: (runDir: string, path: string) => `runs/${runDir}/${path}`,
  attempt: (attemptId: string) => `attempts/${attemptId}/`,
  list: (attemptId: string, purpose: JobPurpose) => `attempts/${attemptId}/${purpose}-list.json`,
  serviceList: (attemptId: string, name: string) => `attempts/${attemptId}/service-${name}-list.json`,
  /** All that the guest may write, and nothing that anybody else does. */
  collected: (attemptId: string) => `attempts/${attemptId}/collected/`,
  output: (attemptId: string) => `attempts/${attemptId}/collected/output/`,
  originLog: (attemptId: string) => `attempts/${attemptId}/collected/origin_log/`,
  /** What a machine that never became ready showed of itself. */
  bootConsole: (attemptId: string) => `attempts/${attemptId}/boot/console.txt`,
  bootScreenshot: (attemptId: string) => `attempts/${attemptId}/boot/screenshot.jpg`,
  /** In the tasks bucket: what machines fetch at their first boot, by its hash. */
  bootArchive: (sha256: string) => `boot/${sha256}/boot.tar.gz`,
  /** Sealed requests to the guest runner, and its answers; removed once they are read. */
  guestRequest: (attemptId: string, requestId: string) => `attempts/${attemptId}/guest/${requestId}/request.json`,
  guestReply: (attemptId: string, requestId: string) => `attempts/${attemptId}/guest/${requestId}/reply.json`,
  finalScreenshot: (attemptId: string) => `attempts/${attemptId}/final-screenshot.png`,
  finalScreen: (attemptId: string) => `attempts/${attemptId}/final-screen.json`,
  film: (attemptId: string) => `attempts/${attemptId}/film.json`,
  collectManifest: (attemptId: string) => `attempts/${attemptId}/collected/collect.json`,
  gradeFolder: (gradeId: string) => `grades/${gradeId}/`,
  gradeStage: (gradeId: string) => `grades/${gradeId}/stage.json`,
  gradeRaw: (gradeId: string) => `grades/${gradeId}/raw.json`,
  grade: (attemptId: string, number: number) => `attempts/${attemptId}/grade-${String(number)}.json`,
} as const;
