/** One word of a POSIX shell, whatever is in it. */
export function quotePosix(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A path as a word; a leading `~/` keeps its meaning, as the server's own file commands keep it. */
export function quotePosixPath(path: string): string {
  return path.startsWith('~/') ? `"$HOME"/${quotePosix(path.slice(2))}` : quotePosix(path);
}

/** Moves a file over another, or into its place. */
export function posixMove(from: string, to: string): string {
  return `mv -f -- ${quotePosixPath(from)} ${quotePosixPath(to)}`;
}

/**
 * `own_group command...` becomes the leader of a new process group that has inherited only the three standard descriptors:
 * the server (on uvloop) leaves the ends of its pipes open in its children, and waits until the last one closes them.
 */
const OWN_GROUP = [
  'own_group() {',
  'if command -v setsid >/dev/null 2>&1; then set -- setsid "$@"',
  'else set -- perl -e "setpgrp(0,0);exec(@ARGV)||exit(127)" -- "$@"; fi',
  'if command -v bash >/dev/null 2>&1; then',
  `exec bash -c 'for f in /dev/fd/*; do f=\${f##*/}; case $f in 0|1|2|"*") ;; *) eval "exec $f>&-" ;; esac; done; exec "$@"' bash "$@"`,
  'elif command -v perl >/dev/null 2>&1; then',
  `exec perl -MPOSIX -e 'POSIX::close($_) for 3..255; exec(@ARGV) || exit(127)' -- "$@"`,
  'elif command -v python3 >/dev/null 2>&1; then',
  `exec python3 -c 'import os,sys; os.closerange(3,256); os.execvp(sys.argv[1],sys.argv[1:])' "$@"`,
  'else exec "$@"; fi',
  '}',
].join('\n');

/**
 * Runs `$d/cmd.sh` as a process group of its own for at most `$n` seconds, with files for what it prints. `$d/rc` appears
 * last and holds the exit status; `$d/timeout` exists when the group was killed because its time was over.
 */
const SUPERVISE = [
  OWN_GROUP,
  'own_group /bin/sh "$d/cmd.sh" >"$d/out" 2>"$d/err" </dev/null & p=$!',
  'echo "$p" >"$d/pid"',
  `own_group /bin/sh -c 'sleep "$1"; : >"$2/timeout"; kill -KILL "-$3"' sh "$n" "$d" "$p" >/dev/null 2>&1 </dev/null & w=$!`,
  'wait "$p"; r=$?',
  // The watcher may not be a group of its own yet.
  'kill -KILL "$w" "-$w" 2>/dev/null; wait "$w" 2>/dev/null',
  'echo "$r" >"$d/rc.part"; mv -f "$d/rc.part" "$d/rc"',
].join('\n');

/** Prints the exit status, `timeout` or nothing, then both outputs as base64, one line each. */
const REPORT = [
  'cat "$d/rc"',
  'if [ -e "$d/timeout" ]; then echo timeout; else echo; fi',
  `head -c "$m" <"$d/out" | base64 | tr -d '\\n'; echo`,
  `head -c "$m" <"$d/err" | base64 | tr -d '\\n'; echo`,
].join('\n');

export interface ShellLimits {
  readonly timeoutSeconds: number;
  /** Of each output; more is cut off. */
  readonly outputLimitBytes: number;
}

/**
 * One call that runs a command to its end: bytes that are no UTF-8 survive, what it leaves running in the background does
 * not hold the answer up, and the whole process group is killed when its time is over.
 */
export function posixForeground(command: string, limits: ShellLimits): string {
  return [
    `n=${limits.timeoutSeconds}; m=${limits.outputLimitBytes}`,
    'd=$(mktemp -d) || exit 1',
    `printf %s ${quotePosix(command)} >"$d/cmd.sh" || exit 1`,
    SUPERVISE,
    REPORT,
    'rm -rf "$d"',
  ].join('\n');
}

/** The supervisor of a detached command whose `cmd.sh` lies in the folder. */
export function posixSupervisor(folder: string, timeoutSeconds: number): string {
  return [`d=${quotePosix(folder)}; n=${timeoutSeconds}`, 'echo $$ >"$d/supervisor"', SUPERVISE, ''].join('\n');
}

/** Starts the supervisor; the call ends at once because nothing of it holds the server's pipes. */
export function posixLaunch(folder: string): string {
  return `${OWN_GROUP}\nown_group /bin/sh ${quotePosix(`${folder}/supervise.sh`)} >/dev/null 2>&1 </dev/null &`;
}

/** Prints `done`, `running` or `lost`; safe to repeat. */
export function posixProbe(folder: string): string {
  return [
    `d=${quotePosix(folder)}`,
    'if [ -e "$d/rc" ]; then echo done; exit 0; fi',
    // The supervisor writes its id within its first moments; without one it is still starting.
    'if [ ! -e "$d/supervisor" ] || kill -0 "$(cat "$d/supervisor")" 2>/dev/null; then echo running; exit 0; fi',
    'if [ -e "$d/rc" ]; then echo done; else echo lost; fi',
  ].join('\n');
}

/** Ends a detached command and its supervisor. */
export function posixKill(folder: string): string {
  return [
    `d=${quotePosix(folder)}`,
    'for f in supervisor pid; do [ -e "$d/$f" ] && kill -KILL "-$(cat "$d/$f")" 2>/dev/null; done; true',
  ].join('\n');
}

/** Prints what `REPORT` prints for a detached command that is done,. */
export function posixCollect(folder: string, outputLimitBytes: number): string {
  return [`d=${quotePosix(folder)}; m=${outputLimitBytes}`, REPORT].join('\n');
}

export function posixRemove(folder: string): string {
  return `rm -rf -- ${quotePosix(folder)}`;
}
