import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  DescribeInstanceInformationCommand,
  GetCommandInvocationCommand,
  SendCommandCommand,
  SSMClient,
} from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { doctorCommand } from '#cli/commands/doctor';
import { EXIT } from '#cli/explain-error';
import type { SandboxEntry } from '#contracts/api-sandboxes';
import { GUEST_PATHS } from '#core/boot-script';
import { unitSummary } from '../remote/api-answers.ts';
import { startFakeApi, type FakeApi } from '../remote/fake-api.ts';

const ssm = mockClient(SSMClient);
const UNIT = unitSummary().unitId;
const ENTRY: SandboxEntry = {
  ...{ provider: 'aws', sandboxId: 'i-0aa', state: 'ready', owner: 'attempt', attemptId: `${UNIT}.1`, unitId: UNIT },
  ...{ sweepId: unitSummary().sweepId, os: 'linux', launchedAt: null, ageSeconds: null, expiresAt: null },
  ...{ orphanSince: null, reaper: 'keep', why: 'its unit goes on' },
};

describe('examhall doctor --sandbox', () => {
  let scratch: string;
  let api: FakeApi;
  let entry: SandboxEntry;
  let printed: string;

  beforeEach(async () => {
    ssm.reset();
    ssm.on(DescribeInstanceInformationCommand).resolves({ InstanceInformationList: [{ PingStatus: 'Online' }] });
    ssm.on(SendCommandCommand).resolves({ Command: { CommandId: 'c-1' } });
    entry = ENTRY;
    api = await startFakeApi({ listSandboxes: () => ({ items: [entry], cursor: null }) });
    scratch = mkdtempSync(path.join(os.tmpdir(), 'examhall-doctor-'));
    writeFileSync(path.join(scratch, 'token'), api.token, { mode: 0o600 });
    for (const [name, value] of Object.entries({ AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' }))
      vi.stubEnv(name, value);
    printed = '';
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      printed += String(text);
      return true;
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    process.exitCode = undefined;
    await api.close();
    rmSync(scratch, { recursive: true });
  });

  /** The command as it is typed, on a machine whose verify script says this. @returns its exit code. */
  async function doctor(says: object, exitCode: number, ...words: readonly string[]): Promise<unknown> {
    const stdout = `${JSON.stringify(says)}\n`;
    ssm.on(GetCommandInvocationCommand).resolves({
      Status: exitCode === 0 ? 'Success' : 'Failed',
      ResponseCode: exitCode,
      StandardOutputContent: stdout,
    });
    const place = ['--host', api.url.href, '--token-file', path.join(scratch, 'token'), '--region', 'eu-west-1'];
    await doctorCommand().parseAsync(['--sandbox', entry.sandboxId, ...place, ...words], { from: 'user' });
    return process.exitCode;
  }

  const sent = () => ssm.commandCalls(SendCommandCommand).map(({ args }) => args[0].input);

  it.each([
    ['linux', 'AWS-RunShellScript', 'ubuntu-desktop'],
    ['windows', 'AWS-RunPowerShellScript', 'windows-desktop'],
  ] as const)(
    'runs the verify script of the image there, and shows each check: %s',
    async (system, document, image) => {
      entry = { ...ENTRY, os: system };
      const checks = [
        { name: 'node', ok: true, seen: 'v24.12.0' },
        { name: 'dead-man', ok: null, seen: 'no time was set' },
      ];
      expect(await doctor({ image, ok: true, checks }, 0)).toBe(EXIT.done);
      expect(printed).toMatch(/ok .*node .*v24\.12\.0\n.*unseen .*dead-man .*no time was set\n$/u);
      expect(sent()).toMatchObject([{ DocumentName: document, InstanceIds: ['i-0aa'] }]);
      const command = sent()[0]?.Parameters?.['commands']?.[0] ?? '';
      const script = system === 'windows' ? command : unpacked(command);
      expect(script).toContain(`'${GUEST_PATHS[system].verify}'`);
    },
  );

  it('ends with another code than 0 when a check failed, and says all as JSON where that is asked', async () => {
    const verified = { image: 'ubuntu-desktop', ok: false, checks: [{ name: 'screen', ok: false, seen: 'black' }] };
    expect(await doctor(verified, 1, '--json')).toBe(EXIT.notAllCompleted);
    expect(JSON.parse(printed)).toEqual(verified);
  });

  it('runs nothing on a sandbox that is not up, or lies elsewhere', async () => {
    for (const change of [{ state: 'pending' }, { provider: 'process' }] as const) {
      entry = { ...ENTRY, ...change };
      await expect(doctor({}, 0)).rejects.toMatchObject({ name: 'ConfigError' });
    }
    expect(sent()).toEqual([]);
  });
});

/** A command for Linux holds its script packed. */
function unpacked(command: string): string {
  const packed = /printf %s '([^']+)'/u.exec(command)?.[1] ?? '';
  return gunzipSync(Buffer.from(packed, 'base64')).toString('utf8');
}
