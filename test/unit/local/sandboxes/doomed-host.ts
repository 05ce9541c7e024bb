import { ProcessKit } from './process-kit.ts';
import { sleepJob } from '#test/contract/channel-suite';

/** A host that starts a sandbox, a stubborn job and a batch, says so on one line, and lives until it is killed. */
const kit = await ProcessKit.open(process.argv[2] === 'walls' ? {} : { withoutWalls: 'asked for by the test' });
const sandbox = await kit.acquire({ attemptId: 'doomed.1' });
const script = "trap '' TERM; setsid sh -c 'while :; do sleep 0.2; done' & while :; do sleep 0.2; done";
const batchMark = `50${process.pid}`;
const job = sleepJob(0, { argv: ['/bin/sh', '-c', script], wallSeconds: 600 });
await kit.channel.start(sandbox, job);
await kit.channel.wait(sandbox, job.jobId);
void kit.channel.call(sandbox, [{ command: 'run_command', params: { command: `sleep ${batchMark}; true` } }], 500);
await new Promise((resolve) => setTimeout(resolve, 700));
process.stdout.write(`${JSON.stringify({ root: kit.root, sandbox, jobId: job.jobId, batchMark })}\n`);
