import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AGENT_ACCOUNTS, bootScript, GUEST_PATHS } from '#core/boot-script';
import { imageFamily } from '#core/image-family';
import { EXECUTION_SECONDS, guestDocument, type GuestDocumentKind } from '#core/guest-documents';
import { adoptionUserData, deriveScript, scanScript, sealScript, wipeScript } from '#core/image-adoption-scripts';
import { agentRunScript, verifyScript } from '#core/preflight-run';
import { preflightScript } from '#core/preflight-script';
import { REFERENCE_NAMES } from '#core/reference-material';
import { WINDOWS_SCREEN_NOTE } from '#guest/guest-state';
import { listProcessesScript } from '#guest/windows';
import { endAccountScript, lookAtAccountScript } from '#guest/windows-account';
import { WINDOWS_SESSION } from '#guest/windows-console';
import { windowsPreflight } from '#test/builders/windows-preflight';
import { powerShellErrors } from '#test/emulators/powershell-parser';
import { componentDocument, IMAGE_KINDS } from '../../infra/constructs/image-components.ts';
import { tier } from '../runner/tier.ts';

const RECIPE = path.resolve(import.meta.dirname, '../../images/windows-desktop');
const LINUX_PINS = readFileSync(path.join(RECIPE, '../ubuntu-desktop/pins.sh'), 'utf8');
const names = readdirSync(RECIPE).filter((name) => name.endsWith('.ps1'));
const textOf = (name: string): string => readFileSync(path.join(RECIPE, name), 'utf8');

/** These are parts of the others. */
const DOT_SOURCED = ['account.ps1', 'layout.ps1', 'pins.ps1', 'tools.ps1'];

describe('the scripts of the Windows recipe', () => {
  it('say once where things lie, whose they are and what is brought, beside each other', () => {
    const users = names.filter(
      (name) => !DOT_SOURCED.includes(name) && /\$(?:target|state|agent)\b/.test(textOf(name)),
    );
    expect(users.length).toBeGreaterThanOrEqual(4);
    for (const name of users) expect(textOf(name), name).toContain('. "$PSScriptRoot\\layout.ps1"');
    for (const variable of ['target', 'state', 'agent']) {
      const settings = names.filter((name) => new RegExp(`^\\$${variable} = `, 'm').test(textOf(name)));
      expect(settings, variable).toEqual(['layout.ps1']);
    }
  });

  it('are all there, in ASCII: Windows PowerShell reads files without a mark in the code page of the system', () => {
    expect(names).toEqual(expect.arrayContaining(['adopt.ps1', 'configure.ps1', 'install.ps1', 'verify.ps1']));
    for (const name of names) expect(textOf(name), name).toMatch(/^[\t\r\n -~]+$/);
  });

  it('stop at the first error, and say that no Windows has run them', () => {
    for (const name of names.filter((each) => !DOT_SOURCED.includes(each))) {
      expect(textOf(name), name).toMatch(/^\$ErrorActionPreference = '(?:Stop|SilentlyContinue)'$/m);
      expect(textOf(name), name).toContain('Unverified: no Windows machine has run');
    }
  });

  it('pin what the Linux recipe pins', () => {
    for (const [linux, windows] of [
      ['NODE_VERSION', 'NodeVersion'],
      ['UV_VERSION', 'UvVersion'],
      ['PYTHON_VERSION', 'PythonVersion'],
    ]) {
      const version = new RegExp(`^${linux ?? ''}=(.+)$`, 'm').exec(LINUX_PINS)?.[1];
      expect(version).toMatch(/^\d+\.\d+\.\d+$/);
      expect(textOf('pins.ps1')).toContain(`$${windows ?? ''} = '${version ?? ''}'`);
    }
    expect([...textOf('pins.ps1').matchAll(/Sha256 = '[0-9a-f]{64}'/g)]).toHaveLength(3);
  });

  it('put things where image families and channels look for them', () => {
    const family = imageFamily('ale-win-server');
    const version = /\$NodeVersion = '(.+)'/.exec(textOf('pins.ps1'))?.[1] ?? '';
    expect(family?.node).toBe(`C:\\Users\\User\\node-v${version}-win-x64\\node.exe`);
    expect(textOf('install.ps1')).toContain(`'C:\\ale-run\\.venv'`);
    expect(family?.python).toContain('C:\\ale-run\\.venv\\');
    expect(family?.dataRoot).toBe('E:\\agenthle');
    expect(textOf('logon-session.ps1')).toContain(`"$target\\runner.mjs", 'session', "$state\\spool"`);
    expect(WINDOWS_SESSION.spoolDir).toBe('C:\\ProgramData\\ExamHall\\spool');
    expect(GUEST_PATHS.windows.jobsDir).toBe('C:\\ProgramData\\ExamHall\\jobs');
  });
});

describe('what names an account of Windows', () => {
  it('is done on each machine and never in an image: sysprep gives accounts new SIDs', () => {
    for (const text of [textOf('install.ps1'), textOf('tools.ps1'), textOf('layout.ps1')])
      expect(text).not.toMatch(/Get-LocalUser|New-LocalUser|CreateProfile|\$sid|account\.ps1/);
    const lines = textOf('configure.ps1').split('\n');
    expect(lines).toContain('. "$PSScriptRoot\\account.ps1"');
    const [agent, folders, node, sid] = [
      'New-Agent',
      'Add-AgentFolders',
      'Add-AgentNode',
      '$sid = (Get-LocalUser -Name $agent).SID.Value',
    ].map((line) => lines.indexOf(line));
    expect(agent).toBeGreaterThan(0);
    expect([folders, node, sid]).toEqual([(agent ?? 0) + 1, (agent ?? 0) + 2, (agent ?? 0) + 3]);
  });

  it('gives the agent all that image families have for it', () => {
    const family = imageFamily('ale-win-server');
    const text = textOf('account.ps1');
    for (const folder of ['.ale', 'cua_mcp_server']) expect(text).toContain(`"C:\\Users\\$agent\\${folder}"`);
    expect(text).toContain(`'${family?.dataRoot ?? 'no family'}'`);
    expect(family?.python.startsWith('C:\\ale-run\\.venv\\')).toBe(true);
    expect(text).toContain(`$folders += 'C:\\ale-run\\.venv'`);
    expect(text).toContain('/grant');
  });

  it('is shut off from both addresses of the metadata service', () => {
    expect(textOf('configure.ps1')).toContain(`-RemoteAddress @('169.254.169.254', 'fd00:ec2::254')`);
  });
});

describe('the look for references', () => {
  it('is for the same names on the same drives as the scan of an adoption', () => {
    const own = textOf('find-references.ps1');
    for (const text of [own, scanScript('windows'), wipeScript('windows')]) {
      const names = /^\$names = (.+)$/m.exec(text)?.[1]?.split(', ');
      expect(names).toEqual(REFERENCE_NAMES.map((name) => `'${name}'`));
      expect(text).toMatch(/^foreach \(\$drive in Get-PSDrive -PSProvider FileSystem\) \{$/m);
      expect(REFERENCE_NAMES.every((name) => name.startsWith('reference'))).toBe(true);
      expect(text).toContain(`-Recurse -Force -Filter 'reference*'`);
      expect(text).toContain(`$item.Name -eq 'reference' -and $item.FullName -like '*\\agenthle\\*'`);
    }
  });
});

describe('row 17: what needs a screen runs in the console session', () => {
  it('is started by logon tasks of type Interactive, with the rights of the agent', () => {
    const text = textOf('configure.ps1');
    expect(text).toContain('New-ScheduledTaskTrigger -AtLogOn -User $sid');
    expect(text).toContain('-LogonType Interactive -RunLevel $level');
    expect(text).toMatch(/\$level = if \(\$isRestricted\) \{ 'Limited' \} else \{ 'Highest' \}/);
    const tasks = [...text.matchAll(/^Register-LogonTask '([^']+)' '([^']+)'$/gm)].map(([, name, script]) => [
      name,
      script,
    ]);
    expect(tasks).toEqual([
      ['ExamHall-Desktop', 'logon-desktop.ps1'],
      ['ExamHall-Session', 'logon-session.ps1'],
    ]);
    for (const [, script] of tasks) expect(names).toContain(script);
  });

  it('has no window that an agent could see or close, and gives agents no lower priority than programs have', () => {
    const text = textOf('configure.ps1');
    expect(text).toContain('-WindowStyle Hidden -File $target\\windows\\$script');
    expect([...text.matchAll(/New-ScheduledTaskAction -Execute (\S+)/g)].map((match) => match[1])).toEqual(['$shell']);
    expect(text).toMatch(/New-ScheduledTaskSettingsSet .* -Priority 4 `\n/);
    const logon = names.filter((name) => name.startsWith('logon-'));
    expect(logon).toHaveLength(2);
    for (const name of logon) {
      const starts = textOf(name)
        .split('\n')
        .filter((line) => line.includes('Start-Process'));
      expect(starts, name).toHaveLength(1);
      for (const line of starts) expect(line, name).toContain('-WindowStyle Hidden');
    }
  });

  it('is set in numbers that the form of a task allows, and ends neither after three days nor for a battery', () => {
    const text = textOf('configure.ps1');
    // In a task's form the count is an unsigned byte.
    expect(Number(/-RestartCount (\d+)/.exec(text)?.[1])).toBeLessThanOrEqual(255);
    for (const setting of [
      '-AllowStartIfOnBatteries',
      '-DontStopIfGoingOnBatteries',
      '-ExecutionTimeLimit (New-TimeSpan -Days',
    ])
      expect(text).toContain(setting);
  });

  it('has a session that logs on by itself at each boot, and never locks', () => {
    for (const value of ['AutoAdminLogon', 'ForceAutoLogon', 'DefaultUserName', 'DefaultDomainName'])
      expect(textOf('configure.ps1')).toContain(`-Name ${value} -Value`);
    for (const value of ['NoLockScreen', 'InactivityTimeoutSecs', 'DisableLockWorkstation', 'PromptOnSecureDesktop'])
      expect(textOf('install.ps1')).toContain(`'${value}'`);
    // Sysprep wipes autologon, so an image must not be what sets it.
    expect(textOf('install.ps1')).not.toContain('AutoAdminLogon');
  });

  it('has a password that its agent can read, and says so', () => {
    expect(textOf('configure.ps1')).toMatch(
      /^# The agent can read it there: .*\nSet-ItemProperty .* -Name DefaultPassword /m,
    );
    for (const name of names) expect(textOf(name), name).not.toMatch(/nobody knows/i);
  });

  it('gets its size before its server starts, and notes how that went where the runner reads it', () => {
    const text = textOf('logon-desktop.ps1');
    expect(text.indexOf('set-resolution.ps1')).toBeGreaterThan(0);
    expect(text.indexOf('set-resolution.ps1')).toBeLessThan(text.indexOf("'computer_server'"));
    const note = /-LiteralPath "\$env:LOCALAPPDATA\\([^"]+)" -Value \$said\.Trim\(\) -Encoding ascii/.exec(text)?.[1];
    expect(WINDOWS_SCREEN_NOTE).toBe(`${AGENT_ACCOUNTS.windows.home}\\AppData\\Local\\${note ?? ''}`);
  });

  it('is asked for by no device that PowerShell names: it cannot give a function the null that stands for the screen', () => {
    const text = textOf('set-resolution.ps1');
    const [, csharp = ''] = text.split(/^.*@'$|^'@$/m);
    expect(csharp).toContain('EnumDisplaySettings(null, number, ref mode)');
    for (const name of names)
      expect(textOf(name).replace(csharp, ''), name).not.toMatch(/\]::\w+\((?:[^)]*, )?\$null\b/);
  });

  it('is looked at: a session above 0, a picture that is not black and has the asked size', () => {
    expect(textOf('verify.ps1')).toContain('$shell[0].SessionId -gt 0');
    expect(textOf('verify.ps1')).toContain('$size -eq $settings.resolution -and $brightest -gt');
  });
});

tier('debootstrap')('every piece of PowerShell', () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'examhall-ps-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  it('is in the grammar, of files, user data, Image Builder and the runner', () => {
    const request = {
      os: 'windows',
      privilege: 'restricted',
      expiresAt: '2030-01-01T00:00:00Z',
      resolution: null,
    } as const;
    const archive = { url: `https://h/boot.tar.gz?a='b'&c=$d`, sha256: 'ab'.repeat(32) };
    const inner = (text: string): string => /^<powershell>\r\n([\s\S]*)<\/powershell>/.exec(text)?.[1] ?? '';
    const made: readonly (readonly [string, string])[] = [
      ['user-data-bare', inner(bootScript({ ...request, kind: 'bare', archive }))],
      ['user-data-prepared', inner(bootScript({ ...request, kind: 'prepared', archive: null }))],
      ...IMAGE_KINDS.flatMap((kind) => powerShellOf(componentDocument(kind, { ...archive, s3Url: 's3://b/k' }))),
      ...KINDS.map((kind): [string, string] => [`document-${kind}`, windowsTextOf(kind)]),
      ['list-processes', listProcessesScript("O'Brien")],
      ['end-account', endAccountScript('User')],
      ['look-at-account', lookAtAccountScript('User')],
      ...(['agent', 'root'] as const).map((from): [string, string] => [
        `preflight-${from}`,
        preflightScript('windows', from, windowsPreflight),
      ]),
      ['preflight', agentRunScript('windows', { script: 'echo 1', jobId: 'p-1', privilege: 'restricted' })],
      ['verify', verifyScript('windows')],
      ['adoption-scan', scanScript('windows')],
      ['adoption-wipe', wipeScript('windows')],
      ['adoption-derive', deriveScript('windows', { ...archive, url: 'https://h/boot.tar.gz?a=b&c=d' })],
      ['adoption-seal', sealScript('windows')],
      ['adoption-user-data', inner(adoptionUserData('windows', END))],
    ];
    expect(made.length).toBeGreaterThanOrEqual(12);
    const files = made.map(([name, text]) => {
      expect(text.length, name).toBeGreaterThan(50);
      writeFileSync(path.join(scratch, `${name}.ps1`), text);
      return path.join(scratch, `${name}.ps1`);
    });
    expect(powerShellErrors([...files, ...names.map((name) => path.join(RECIPE, name))])).toEqual([]);
  });

  it('is refused where it is broken', () => {
    const file = path.join(scratch, 'broken.ps1');
    writeFileSync(file, `if ($a -eq 1 { Write-Output 'x' }\n`);
    expect(powerShellErrors([file])).toHaveLength(1);
  });
});

const END = { minutes: 60, endsAt: '2030-01-01T00:00:00Z', region: 'eu-west-1' };
const KINDS = Object.keys(EXECUTION_SECONDS) as GuestDocumentKind[];

/** What a document runs on Windows, with its parameter as the cloud writes it. */
function windowsTextOf(kind: GuestDocumentKind): string {
  const { mainSteps } = guestDocument(kind) as {
    readonly mainSteps: readonly {
      readonly name: string;
      readonly inputs: { readonly runCommand: readonly string[] };
    }[];
  };
  const step = mainSteps.find(({ name }) => name === 'windows');
  return (step?.inputs.runCommand ?? []).join('\r\n').replaceAll('{{ Request }}', 's1aB-_');
}

interface ComponentStep {
  readonly name: string;
  readonly action: string;
  readonly inputs: { readonly commands?: readonly string[] };
}

function powerShellOf(document: object): [string, string][] {
  const { phases } = document as {
    readonly phases: readonly { readonly name: string; readonly steps: readonly ComponentStep[] }[];
  };
  return phases.flatMap((phase) =>
    phase.steps
      .filter(({ action }) => action === 'ExecutePowerShell')
      .map(({ name, inputs }): [string, string] => [`${phase.name}-${name}`, inputs.commands?.join('\n') ?? '']),
  );
}
