/** One try to launch: a machine type in a zone. */
export interface Launch {
  /** Raised once the machine of the try before is known to have ended. */
  readonly launchTry: number;
  readonly type: string;
  readonly zone: string;
  /** Type and zone as rows name them. */
  readonly pool: string;
}

export interface LaunchWish {
  /** In the order of preference. */
  readonly types: readonly string[];
  readonly zones: readonly string[];
  /** Pools that had no machine a short while ago. */
  readonly coolingPools: readonly string[];
  /** What was noted last for this attempt; `refused` once the provider said that it launched nothing there. */
  readonly last: (Pick<Launch, 'launchTry' | 'pool'> & { readonly refused: boolean }) | null;
}

/** Tries that one pool gets for one attempt. */
export const MOST_LAUNCH_TRIES = 3;

export function poolName(type: string, zone: string): string {
  return `${type} ${zone}`;
}

/**
 * Where to launch, in order. A launch that was noted before comes first, with its own try: what it may have launched is found
 * again by its token. One that was refused launched nothing, and is a pool like any other. The others follow by type, then by zone; those that had no machine lately come last.
 */
export function planLaunches({ types, zones, coolingPools, last }: LaunchWish): readonly Launch[] {
  const launchTry = last?.launchTry ?? 1;
  const noted = last === null || last.refused ? null : notedLaunch(last, zones);
  const all = types.flatMap((type) =>
    zones.map((zone): Launch => ({ launchTry, type, zone, pool: poolName(type, zone) })),
  );
  const others = distinct(all).filter(({ pool }) => pool !== noted?.pool);
  const isCooling = ({ pool }: Launch): boolean => coolingPools.includes(pool);
  return [
    ...(noted === null ? [] : [noted]),
    ...others.filter((launch) => !isCooling(launch)),
    ...others.filter(isCooling),
  ];
}

/** Null when its zone is none of ours any more: nothing can be launched there, and so nothing found again. */
function notedLaunch({ launchTry, pool }: Pick<Launch, 'launchTry' | 'pool'>, zones: readonly string[]): Launch | null {
  const [type = '', zone = ''] = pool.split(' ');
  return zones.includes(zone) ? { launchTry, type, zone, pool } : null;
}

function distinct(launches: readonly Launch[]): readonly Launch[] {
  return [...new Map(launches.map((launch) => [launch.pool, launch])).values()];
}

/** The same pool again, once the machine of this try has ended; null when it had all its tries. */
export function nextTry(launch: Launch): Launch | null {
  return launch.launchTry >= MOST_LAUNCH_TRIES ? null : { ...launch, launchTry: launch.launchTry + 1 };
}

/** Token that makes a launch safe to repeat: 64 hex digits, another one for each attempt, try, type and zone. */
export function launchToken(
  attempt: string,
  { launchTry, type, zone }: Launch,
  sha256: (text: string) => string,
): string {
  return sha256(JSON.stringify([attempt, launchTry, type, zone]));
}
