/** The agent says that it acts, and ends a while later. */
export const ACTS = `import { writeFileSync } from 'node:fs';
writeFileSync('/tmp/acts', ''); setTimeout(() => process.exit(0), 500);`;

/** Once the agent acts the runner is another program. */
export function replaceRunner(program: string): string {
  return `until [ -e /tmp/acts ]; do sleep 0.05; done
cd /opt/examhall && cp runner.mjs real.mjs && cat > other.mjs <<'END'
${program}
END
mv other.mjs runner.mjs`;
}

/** The real runner, whose answers are what `lie` makes of them: the seal, the transfers and the jobs are real. */
export function lyingRunner(lie: string): string {
  return replaceRunner(`const real = JSON.stringify;
const lie = (answer) => { ${lie} };
const isAnswer = (value) => value !== null && typeof value === 'object' && 'requestId' in value && 'ok' in value;
JSON.stringify = (value, ...rest) => (isAnswer(value) ? lie(value) : real(value, ...rest));
process.argv[1] = '/opt/examhall/real.mjs';
await import('/opt/examhall/real.mjs');`);
}

/** Whether an answer tells of the end of a collect. */
export const OF_COLLECT = `answer.ok && answer.value?.state === 'finished' && answer.value.result.jobId.includes('~collect')`;
