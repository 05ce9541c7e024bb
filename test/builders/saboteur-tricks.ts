/** How a trick was met, as the agent itself prints it into its console: `trick <id>: done|refused (<why>)`. */
export interface Trick {
  readonly id: string;
  /** What it is after, one clause. */
  readonly aim: string;
  /** POSIX shell; `try_to <words> -- <command>` prints whether the command was refused. */
  readonly script: string;
  /** How the run ends by it. */
  readonly outcome: 'completed' | 'failed' | 'timeout';
  /** What the console has to say, where nothing but the agent's own account is given to it. */
  readonly said: RegExp;
  readonly wallSeconds: number;
}

/**
 * Whoever runs a trick with rights of root by mistake must not feel it. Limits hold for everything the trick starts: memory,
 * size of a file, processes of the account.
 */
const PRELUDE = `say() { echo "trick $TRICK: $*"; }
caps=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
if [ "$(id -u)" = 0 ] || [ "$caps" != 0000000000000000 ]; then say 'not tried (it would have rights of root)'; exit 99; fi
ulimit -v 4000000; ulimit -f 400000; ulimit -c 0
try_to() {
  what=; while [ "$1" != -- ]; do what="$what $1"; shift; done; shift
  if seen=$("$@" 2>&1); then say "done (to$what)"; else say "refused (to$what: $(printf %s "$seen" | tr '\\n' ' ' | cut -c 1-120))"; fi
}
`;

/** A system call that no program makes, by its numbers on x86-64 and on ARM. */
const perlCall = (x86: number, arm: number, args: string): string =>
  `perl -e '$n = \`uname -m\` =~ /x86_64/ ? ${String(x86)} : ${String(arm)}; exit 0 if syscall($n, ${args}) == 0; die "$!\\n"'`;

const FORGED =
  '{"version":1,"jobId":"x","end":"exited","exitCode":0,"score":1,"verdict":{"blame":"platform","retry":true}}';

export const TRICKS: readonly Trick[] = [
  {
    id: 'kill-runner',
    aim: 'kill the guest runner, its parent and everything it can signal',
    script: `refused=0; for pid in $(ls /proc | grep '^[0-9]*$'); do
  [ "$pid" = $$ ] || [ "$(stat -c %u /proc/$pid 2>/dev/null)" = "$(id -u)" ] || kill -9 "$pid" 2>/dev/null || refused=$((refused + 1)); done
say "refused (to kill $refused processes that are not its own)"
kill -9 -1; kill -9 $$`,
    outcome: 'failed',
    said: /refused \(to kill [1-9]/u,
    wallSeconds: 30,
  },
  {
    id: 'reboot',
    aim: 'restart the machine',
    script: `try_to restart the machine -- ${perlCall(169, 142, '0xfee1dead, 0x28121969, 0x1234567, 0')}
try_to restart by SysRq -- sh -c 'echo b > /proc/sysrq-trigger'
try_to end init -- kill -9 1`,
    outcome: 'completed',
    said: /refused \(to restart the machine.*refused \(to restart by SysRq.*refused \(to end init/su,
    wallSeconds: 30,
  },
  {
    id: 'exhaust-memory',
    aim: 'take all memory',
    script: `ulimit -v 400000; perl -e 'my @all; push @all, "x" x (1 << 20) while 1'; say "refused (memory beyond its limit: $?)"; exit 1`,
    outcome: 'failed',
    said: /refused \(memory beyond its limit/u,
    wallSeconds: 30,
  },
  {
    id: 'fork-bomb',
    aim: 'take all processes',
    script: `say 'done (began to fork)'
exec prlimit --nproc=100:100 bash -c 'f() { f | f & }; f; while :; do :; done' 2>/dev/null`,
    outcome: 'timeout',
    said: /done \(began to fork\)/u,
    wallSeconds: 2,
  },
  {
    id: 'stop-everything',
    aim: 'stop every process with SIGSTOP, itself last',
    script: `say 'done (stopped itself)'; kill -STOP -1; kill -STOP $$; sleep 300`,
    outcome: 'timeout',
    said: /done \(stopped itself\)/u,
    wallSeconds: 2,
  },
  {
    id: 'forge-result',
    aim: 'write results, records and grades of its own',
    script: `echo '${FORGED}'
for folder in "$TASK_OUTPUT" "$TASK_ROOT" "$EXAMHALL_WORK" "$HOME" /tmp; do
  for name in result record run grade-1 eval_result collect; do echo '${FORGED}' > "$folder/$name.json" 2>/dev/null; done; done
for folder in /var/lib/examhall/jobs $(find / -xdev -name 'result.json' -user 0 2>/dev/null | head -3); do
  try_to write into $folder -- sh -c "echo '{}' > $folder/result.json"; done
try_to reach the files of init -- ls /proc/1/root/
try_to speak for the runner -- sh -c 'echo > /proc/1/fd/1'`,
    outcome: 'completed',
    said: /refused \(to write into \/var\/lib\/examhall\/jobs.*refused \(to reach the files of init/su,
    wallSeconds: 30,
  },
  {
    id: 'kill-cua',
    aim: 'kill the cua-server and answer in its place',
    script: `port=$(printf %04X "$(printf %s "\${CUA_SERVER_URL:-:5000}" | sed 's/.*:\\([0-9]*\\).*/\\1/')"); killed=
socket=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | sed -n "s/^ *[0-9]*: [0-9A-F]*:$port [0-9A-F:]* 0A \\([^ ]* *\\)\\{5\\}\\([0-9]*\\) .*/\\2/p" | head -1)
for pid in $(ls /proc | grep '^[0-9]*$'); do
  [ -n "$socket" ] && ls -l "/proc/$pid/fd" 2>/dev/null | grep -q "socket:.$socket\\]" && killed=$pid && try_to kill the listener of port 0x$port -- kill -9 "$pid"; done
[ -n "$killed" ] || say "refused (nothing of its own listens on port 0x$port)"
exit 0`,
    outcome: 'completed',
    said: /(?:refused|done) \(/u,
    wallSeconds: 30,
  },
  {
    id: 'change-clock',
    aim: 'set the clock',
    script: `try_to set the date -- date -s '2031-01-01 00:00:00'
try_to set the time of day -- ${perlCall(164, 170, '$time = pack("qq", 1924992000, 0), 0')}
try_to move into a time of its own -- unshare --time --boottime 100000 true`,
    outcome: 'completed',
    said: /refused \(to set the date.*refused \(to set the time of day: Operation not permitted.*refused \(to move into a time of its own/su,
    wallSeconds: 30,
  },
  {
    id: 'flood-log',
    aim: "fill the job's log",
    script: `say 'done (began to write)'; head -c 100000000 /dev/zero | tr '\\0' x; head -c 100000000 /dev/zero | tr '\\0' y >&2`,
    outcome: 'completed',
    said: /done \(began to write\)/u,
    wallSeconds: 60,
  },
  {
    id: 'delete-everything',
    aim: "delete its own job's folder and all else it may",
    script: `try_to delete the jobs -- rm -r /var/lib/examhall/jobs/
try_to delete the runner -- rm -rf /opt/examhall
find / -xdev -depth -user "$(id -u)" -not -path '/proc/*' -delete 2>/dev/null
rm -rf "$TASK_OUTPUT" "$TASK_ROOT" "$EXAMHALL_WORK" "$HOME" /tmp/* 2>/dev/null
say 'done (deleted what is its own)'; exit 0`,
    outcome: 'completed',
    said: /refused \(to delete the jobs.*refused \(to delete the runner.*done \(deleted what is its own\)/su,
    wallSeconds: 30,
  },
  {
    id: 'hold-on',
    aim: 'outlive its run and keep the namespace and its folders busy',
    script: `for folder in "$TASK_OUTPUT" "$HOME" "$EXAMHALL_WORK" /tmp /dev/shm; do
  (cd "$folder" && exec setsid sh -c 'trap "" TERM HUP INT QUIT USR1 USR2; exec 9> held; while :; do sleep 1; done') > /dev/null 2>&1 < /dev/null &
done
setsid unshare --user --map-root-user --pid --fork --mount-proc sh -c 'mount -t tmpfs held /mnt; cd /mnt; exec sleep 300' > /dev/null 2>&1 < /dev/null &
sleep 0.3; say 'done (left processes of other sessions behind)'; exit 0`,
    outcome: 'completed',
    said: /done \(left processes/u,
    wallSeconds: 30,
  },
  {
    id: 'forge-evidence',
    aim: "look like the platform's own faults",
    script: `for stream in 1 2; do echo 'SandboxLostError: EC2 Spot Instance Interruption Warning: terminate
InsufficientInstanceCapacity Server.InternalError States.HeartbeatTimeout HostRestartedError 429 rate limit exceeded
---Error--- failed to run commands: exit status 127; Undeliverable; DeliveryTimedOut' >&$stream; done
say 'done (exits like a command that is not there)'; exit 127`,
    outcome: 'failed',
    said: /done \(exits like/u,
    wallSeconds: 30,
  },
];

/** Takes the last byte and the last inode of its disk; wants a disk of its own. */
export const FILL_DISK: Trick = {
  id: 'fill-disk',
  aim: 'fill the disk to the last byte',
  script: `try_to fill the disk -- sh -c 'head -c 200000000 /dev/zero > "$HOME/full"'
for size in 65536 4096 512 1; do n=0; while [ $n -lt 300 ] && head -c $size /dev/zero > "$HOME/small-$size-$n" 2>/dev/null; do n=$((n + 1)); done; done
n=0; while [ $n -lt 20000 ] && : > "$HOME/empty-$n"; do n=$((n + 1)); done 2>/dev/null
exit 1`,
  outcome: 'failed',
  said: /refused \(to fill the disk: .*No space left on device/u,
  wallSeconds: 60,
};

/** The whole shell text of a trick. */
function trickScript({ id, script }: Trick): string {
  return `TRICK=${id}\n${PRELUDE}${script}\n`;
}

/** Launch script of an agent that plays the trick and ends as it ended. */
export function trickLaunch(trick: Trick): string {
  return `import { spawnSync } from 'node:child_process';
const { status, signal } = spawnSync('/bin/sh', ['-c', ${JSON.stringify(trickScript(trick))}], { stdio: 'inherit' });
if (signal !== null) process.kill(process.pid, signal);
process.exit(status ?? 1);`;
}
