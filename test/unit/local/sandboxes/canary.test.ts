import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GUEST_CONTRACT_VERSION, type GuestAccount } from '#contracts/guest';
import type { Sandbox } from '#ports/sandbox-provider';
import { sleepJob } from '#test/contract/channel-suite';
import { tier } from '#test/runner/tier';
import { loaded } from '#test/unit/guest/guest-kit';
import { DesktopKit } from './desktop-kit.ts';
import { ProcessKit } from './process-kit.ts';

const repository = path.resolve(import.meta.dirname, '../../../..');

/**
 * Looks for a word in the names of everything, in every file that can be read, and in every environment, command line and
 * open file. The word is put together inside, so that the scan's own words do not count. Programs of the system (`/usr` and
 * what is the same folder) are looked through for names only: they are the host's, and the canary is planted nowhere in them.
 */
const scan = (word: string): string => `
set -u
word=$(printf '%s%s' '${word.slice(0, 8)}' '${word.slice(8)}')
same=
for name in bin sbin lib lib32 lib64 libx32; do
  [ "/$name" -ef "/usr/$name" ] && same="$same -path /$name -prune -o"
done
find / -path /proc -prune -o $same -print 2> /dev/null |
  awk -v word="$word" 'index($0, word) { print } END { print "paths: " NR }'
find / -path /proc -prune -o $same -path /usr -prune -o -type f -readable -print0 2> /dev/null |
  xargs -0 -r grep -laF -- "$word" 2> /dev/null
processes=0
for pid in $(ls /proc | grep '^[0-9]*$'); do
  processes=$((processes + 1))
  for name in environ cmdline maps mountinfo; do
    grep -qaF -- "$word" /proc/$pid/$name 2> /dev/null && echo "/proc/$pid/$name"
  done
  for way in root cwd; do ls -a /proc/$pid/$way/ 2> /dev/null | grep -F -- "$word"; done
  ls -l /proc/$pid/fd 2> /dev/null | grep -F -- "$word"
done
echo "processes: $processes"
`;

/** Everything the scan must have looked at for its silence to mean something. */
const LEAST_PATHS = 1000;
const SCAN_LIMIT_MS = 120_000;

type Kit = Pick<ProcessKit, 'root' | 'channel' | 'acquire' | 'run' | 'remove'>;

function findsNothing(open: () => Promise<Kit>): void {
  const canary = `canary${randomBytes(16).toString('hex')}`;
  const planted: string[] = [];
  let kit: Kit;
  let sandbox: Sandbox;
  let witness: ReturnType<typeof spawn>;

  beforeAll(async () => {
    kit = await open();
    sandbox = await kit.acquire();
    // The repository is shared with other tests: its canary lies in a folder of its own that git does not see.
    for (const folder of [os.homedir(), kit.root, path.join(repository, 'node_modules'), '/var', '/opt', os.tmpdir()]) {
      const place = mkdtempSync(path.join(folder, `.${canary}-`));
      planted.push(place);
      writeFileSync(path.join(place, 'reference.json'), JSON.stringify({ answer: canary }));
    }
    const state = sandbox.endpoint ?? '';
    writeFileSync(path.join(state, 'jobs', `.${canary}`), canary);
    witness = spawn('/bin/sh', ['-c', `sleep 300; : ${canary}`], { env: { SECRET: canary }, stdio: 'ignore' });
  });
  afterAll(async () => {
    witness.kill('SIGKILL');
    for (const place of planted) rmSync(place, { recursive: true, force: true });
    await kit.remove();
  });

  async function scanAs(account: GuestAccount | null): Promise<string[]> {
    const batch = { version: GUEST_CONTRACT_VERSION, isolation: sandbox.guestIsolation, timeoutSeconds: 100 } as const;
    const calls = [{ command: 'run_command', params: { command: `id -u; ${scan(canary)}` } }];
    const [answer] = await (await loaded()).rpc({ ...batch, account, calls });
    expect(answer).toMatchObject({ success: true, return_code: 0 });
    const stdout: unknown = Object.entries(answer ?? {}).find(([name]) => name === 'stdout')?.[1];
    const [uid, ...lines] = String(stdout).trim().split('\n');
    expect(uid).toBe(String(account?.uid ?? 0));
    const countOf = (what: string): number => Number(lines.find((line) => line.startsWith(what))?.slice(what.length));
    expect(countOf('paths: ')).toBeGreaterThan(LEAST_PATHS);
    expect(countOf('processes: ')).toBeGreaterThan(2);
    return lines.filter((line) => !/^(?:paths|processes): \d+$/.test(line));
  }

  it(
    'is nothing, as the agent',
    async () => {
      expect(await scanAs(sandbox.agent)).toEqual([]);
    },
    SCAN_LIMIT_MS,
  );

  it(
    'is nothing, as root inside its namespaces',
    async () => {
      expect(await scanAs(null)).toEqual([]);
    },
    SCAN_LIMIT_MS,
  );

  it(
    'would be found if it were there',
    async () => {
      const script = `echo 'x ${canary} y' > /home/user/output.txt; echo ${canary} > /tmp/other; mkdir -p /media/user/data/agenthle/${canary}`;
      const job = sleepJob(0, { argv: ['/bin/sh', '-c', script] });
      expect(await kit.run(sandbox, job)).toMatchObject({ exitCode: 0 });
      for (const account of [sandbox.agent, null]) {
        const found = await scanAs(account);
        expect(found).toEqual(
          expect.arrayContaining(['/home/user/output.txt', '/tmp/other', `/media/user/data/agenthle/${canary}`]),
        );
      }
    },
    SCAN_LIMIT_MS,
  );
}

tier('isolation')('what an agent can find of the host', () => findsNothing(() => ProcessKit.open()));

tier('desktop')('what an agent with a screen can find of the host', () => {
  tier('isolation')('with namespaces', () => findsNothing(() => DesktopKit.open()));
});
