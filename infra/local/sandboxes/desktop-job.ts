import { GUEST_CONTRACT_VERSION, type ExecJob, type GuestAccount, type GuestIsolation } from '#contracts/guest';

export const DESKTOP_JOB = 'desktop';

export interface DesktopJobPlan {
  readonly account: GuestAccount | null;
  readonly isolation: GuestIsolation;
  readonly home: string;
  readonly xAuthority: string;
  readonly python: string;
  readonly width: number;
  readonly height: number;
  /** Where the server listens; 0 takes any free port, which the server's own log then names. */
  readonly port: number;
  readonly wallSeconds: number;
}

/** Xvfb takes the first display that is free and says which; everything else waits for that. */
const SCRIPT = `
set -u
said="$HOME/.desktop-display"
: > "$said"
Xvfb -displayfd 3 -screen 0 "$SCREEN" -nolisten tcp -auth "$XAUTHORITY" -noreset 3> "$said" &
xvfb=$!
tries=0
while [ ! -s "$said" ]; do
  kill -0 "$xvfb" 2> /dev/null || { echo "Xvfb ended before it had a display" >&2; exit 70; }
  tries=$((tries + 1))
  [ "$tries" -lt 1200 ] || { echo "Xvfb has no display after a minute" >&2; exit 70; }
  sleep 0.05
done
DISPLAY=":$(cat "$said")"
rm -f "$said"
export DISPLAY
echo "display $DISPLAY"
python=$SERVER_PYTHON port=$SERVER_PORT
unset SCREEN SERVER_PYTHON SERVER_PORT
xsetroot -solid '#3a5f7d'
openbox --sm-disable &
"$python" -m computer_server --host 127.0.0.1 --port "$port" --log-level info &
wait $!
`;

/** The job that is the desktop: screen, window manager and the real cua-server, as the agent's account. */
export function desktopJob(plan: DesktopJobPlan): ExecJob {
  return {
    version: GUEST_CONTRACT_VERSION,
    kind: 'exec',
    jobId: DESKTOP_JOB,
    wallSeconds: plan.wallSeconds,
    account: plan.account,
    isolation: plan.isolation,
    argv: ['/bin/sh', '-c', SCRIPT],
    env: {
      XAUTHORITY: plan.xAuthority,
      LANG: 'C.UTF-8',
      CUA_TELEMETRY_ENABLED: 'false',
      DO_NOT_TRACK: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      SCREEN: `${String(plan.width)}x${String(plan.height)}x24`,
      SERVER_PYTHON: plan.python,
      SERVER_PORT: String(plan.port),
    },
    cwd: plan.home,
    stdin: null,
    outputLimitMiB: 16,
  };
}
