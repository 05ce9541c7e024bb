import { quoteShell } from './boot-script-linux.ts';

/** A person's way to the screen of a sandbox: no port of it is open, so Session Manager carries one here. */
export interface DesktopRoute {
  readonly what: string;
  readonly remotePort: number;
  readonly localPort: number;
  /** To run on the person's computer. */
  readonly argv: readonly string[];
  /** What to do while it runs. */
  readonly then: string;
}

interface Sought {
  readonly sandboxId: string;
  readonly os: 'linux' | 'windows';
  readonly region: string;
  readonly profile: string | undefined;
  /** The first one; others follow it. */
  readonly localPort: number;
}

interface Door {
  readonly what: string;
  readonly port: number;
  readonly then: (localPort: number) => string;
}

const CUA: Door = {
  what: 'the screen, through cua-server: looking takes nothing away from the agent',
  port: 5000,
  then: (port) =>
    `curl -s http://127.0.0.1:${String(port)}/status tells that it answers; \`{"command":"screenshot"}\` posted to /cmd is a picture of the screen`,
};

const DOORS: Readonly<Record<Sought['os'], readonly Door[]>> = {
  linux: [CUA],
  windows: [
    CUA,
    {
      what: 'the desktop itself, through RDP: it takes the console session away from the agent, so only where no agent works',
      port: 3389,
      then: (port) => `open 127.0.0.1:${String(port)} in an RDP client`,
    },
  ],
};

/** What the command needs, on the computer that it runs on and in the account. */
export const DESKTOP_ACCESS_NEEDS: readonly string[] = [
  'the AWS CLI and its Session Manager plugin on this computer',
  'credentials that may call ssm:StartSession on the instance and on the document AWS-StartPortForwardingSession',
  'a sandbox that is up, with its SSM agent online',
];

/** The commands that bring a sandbox's screen to this computer; nothing is run. */
export function desktopRoutes({ sandboxId, os, region, profile, localPort }: Sought): readonly DesktopRoute[] {
  return DOORS[os].map(({ what, port, then }, at) => {
    const local = localPort + at;
    const argv = [
      ...['aws', 'ssm', 'start-session', '--target', sandboxId],
      ...['--document-name', 'AWS-StartPortForwardingSession'],
      ...['--parameters', `portNumber=${String(port)},localPortNumber=${String(local)}`],
      ...['--region', region],
      ...(profile === undefined ? [] : ['--profile', profile]),
    ];
    return { what, remotePort: port, localPort: local, argv, then: then(local) };
  });
}

/** The time that a machine gives itself, as its boot wrote it. */
const DISARM = {
  linux: { document: 'AWS-RunShellScript', text: 'systemctl disable --now examhall-deadman.timer' },
  windows: {
    document: 'AWS-RunPowerShellScript',
    text: 'Unregister-ScheduledTask -TaskName ExamHall-DeadMan -Confirm:$false',
  },
} as const;

/**
 * The command that keeps a machine which is left on purpose from switching itself off when its time ends. It has to be run before
 * that: a machine that is started later ends at once.
 */
export function disarmCommand({ sandboxId, os, region, profile }: Omit<Sought, 'localPort'>): readonly string[] {
  const { document, text } = DISARM[os];
  return [
    ...['aws', 'ssm', 'send-command', '--instance-ids', sandboxId, '--document-name', document],
    ...['--parameters', JSON.stringify({ commands: [text] })],
    ...['--region', region],
    ...(profile === undefined ? [] : ['--profile', profile]),
  ];
}

/** A command as a POSIX shell takes it. */
export function shellText(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : quoteShell(word))).join(' ');
}
