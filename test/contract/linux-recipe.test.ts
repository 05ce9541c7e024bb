import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { AGENT_ACCOUNTS, bootScript, GUEST_PATHS } from '#core/boot-script';
import { imageFamily } from '#core/image-family';
import { recipeRoot, type RecipeRoot } from '#test/emulators/debian-root';
import { tier } from '../runner/tier.ts';

const RECIPE = path.resolve(import.meta.dirname, '../../images/ubuntu-desktop');

const VerdictSchema = z.object({
  image: z.literal('ubuntu-desktop'),
  ok: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean().nullable(), seen: z.string() })).min(20),
});

type Verdict = z.infer<typeof VerdictSchema>;

/** What no chroot shows: it has no systemd running. */
const NEEDS_BOOT = ['dead-man', 'metadata', 'units-active'];

/** What a unit starts, in the environment that it gives, without systemd. */
const asAgent = (command: string): string =>
  `setpriv --reuid 1100 --regid 1100 --clear-groups env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/user USER=user DISPLAY=:0 LANG=C.UTF-8 EXAMHALL_RESOLUTION=1280x800 ${command}`;

const configure = (privilege: string): string =>
  `printf 'EXAMHALL_PRIVILEGE=${privilege}\\nEXAMHALL_RESOLUTION=1280x800\\nEXAMHALL_EXPIRES_AT=\\n' >/etc/examhall/sandbox.env; bash /opt/examhall/linux/configure.sh >&2`;

tier('debootstrap')('the Linux recipe, in a Debian root', () => {
  let root: RecipeRoot;

  beforeAll(async () => {
    root = await recipeRoot();
  }, 1_200_000);

  async function verify(before: string, variables = ''): Promise<{ verdict: Verdict; code: number | null }> {
    const { stdout, stderr, code } = await root.run(
      `set -e\n${before}\nset +e\n${variables} /opt/examhall/linux/verify.sh`,
      {
        timeoutSeconds: 120,
      },
    );
    const line = stdout.trim().split('\n').at(-1) ?? '';
    if (!line.startsWith('{')) throw new Error(`verify.sh said ${JSON.stringify(stdout)} and ${stderr}`);
    return { verdict: VerdictSchema.parse(JSON.parse(line)), code };
  }

  const failed = ({ checks }: Verdict) => checks.filter(({ ok }) => ok === false);
  const unseen = ({ checks }: Verdict) => checks.flatMap(({ ok, name }) => (ok === null ? [name] : [])).sort();

  it.each(['restricted', 'upstream'])(
    'passes its own verify script as %s, with what needs a boot left unseen',
    async (privilege) => {
      const { verdict, code } = await verify(configure(privilege));
      expect(failed(verdict)).toEqual([]);
      expect(unseen(verdict)).toEqual([...NEEDS_BOOT, 'cua-answers', 'cua-as-agent', 'screen'].sort());
      expect({ code, ok: verdict.ok }).toEqual({ code: 0, ok: true });
    },
    180_000,
  );

  it('shows a picture of the asked size through a cua-server that is the agent', async () => {
    const start = [
      configure('restricted'),
      'mkdir -p -m 1777 /tmp/.X11-unix',
      ...['display', 'session', 'cua'].map(
        (name) => `${asAgent(`/opt/examhall/linux/${name}.sh`)} >/tmp/${name}.log 2>&1 &`,
      ),
      'for i in $(seq 240); do curl -fs http://127.0.0.1:5000/status >/dev/null && break; sleep 0.25; done',
      'curl -fs http://127.0.0.1:5000/status >/dev/null || { cat /tmp/*.log >&2; exit 9; }',
    ].join('\n');
    const { verdict } = await verify(start, 'EXAMHALL_VERIFY_DESKTOP=1');
    expect(failed(verdict)).toEqual([]);
    expect(unseen(verdict)).toEqual(NEEDS_BOOT);
    expect(verdict.checks.find(({ name }) => name === 'screen')?.seen).toMatch(/^1280x800 brightness/);
  }, 180_000);

  it.each([
    [
      'a program that the agent may change',
      'chmod o+w /opt/examhall/runner.mjs',
      'agent-writes-no-program',
      'chmod o-w /opt/examhall/runner.mjs',
    ],
    [
      'answers in the image',
      'touch /media/user/data/reference.7z',
      'no-references',
      'rm /media/user/data/reference.7z',
    ],
    [
      'jobs that everybody may read',
      'chmod 755 /var/lib/examhall/jobs',
      'jobs-folder',
      'chmod 700 /var/lib/examhall/jobs',
    ],
    [
      'updates that may begin',
      'rm /etc/systemd/system/apt-daily.timer',
      'updates-off',
      'systemctl mask apt-daily.timer',
    ],
    [
      'an agent that may plan for later',
      'echo user >>/etc/cron.allow',
      'starts-nothing-later',
      'echo root >/etc/cron.allow',
    ],
    [
      'a restricted agent with sudo',
      `echo 'user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/zz-own`,
      'agent-privilege',
      'rm /etc/sudoers.d/zz-own',
    ],
  ])(
    'does not pass %s',
    async (_, harm, name, mend) => {
      const { verdict, code } = await verify(`${configure('restricted')}\n${harm}`);
      await root.run(mend);
      expect(failed(verdict).map((check) => check.name)).toEqual([name]);
      expect(code).toBe(1);
    },
    120_000,
  );

  it('takes every right from the agent as restricted, whatever the image gave it', async () => {
    const given = `usermod -aG sudo user; echo 'user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/zz-own`;
    const { verdict } = await verify(`${given}\n${configure('restricted')}`);
    expect(failed(verdict)).toEqual([]);
  }, 120_000);

  it('shuts the metadata address to the agent, and to nobody else', async () => {
    const get = 'curl -s --max-time 5 -o /dev/null -w %{http_code} http://169.254.169.254/latest/';
    const { stdout, stderr } = await root.run(
      [
        'set -e',
        configure('restricted'),
        'mkdir -p /tmp/www/latest && cd /tmp/www',
        'ip addr add 169.254.169.254/32 dev lo',
        'python3 -m http.server 80 --bind 169.254.169.254 >/dev/null 2>&1 &',
        `for i in $(seq 100); do ${get} >/dev/null && break; sleep 0.1; done`,
        `echo "open: agent $(${asAgent(get)} || true)"`,
        'nft -f /etc/examhall/metadata.nft',
        'nft -f /etc/examhall/metadata.nft',
        `echo "shut: agent $(${asAgent(get)} || true), root $(${get} || true)"`,
      ].join('\n'),
    );
    expect({ lines: stdout.trim().split('\n'), stderr }).toMatchObject({
      lines: ['open: agent 200', 'shut: agent 000, root 200'],
    });
  }, 120_000);

  it('has the paths that image families and channels name', async () => {
    const family = imageFamily('ale-ubuntu22');
    const { keyFile, ...there } = GUEST_PATHS.linux;
    const paths = [
      family?.node,
      family?.python,
      family?.dataRoot,
      family?.workRoot,
      family?.mcpServerDir,
      ...Object.values(there),
    ];
    const account = AGENT_ACCOUNTS.linux;
    const { stdout, code } = await root.run(
      `set -e\nls -d ${[...paths, path.dirname(keyFile)].join(' ')} >/dev/null\ngetent passwd ${account.name}`,
    );
    expect(code).toBe(0);
    expect(stdout.trim()).toBe(`user:x:${account.uid}:${account.gid}::${account.home}:/bin/bash`);
  }, 60_000);

  it('adopts no image that holds answers', async () => {
    const { code, stderr } = await root.run(
      'mkdir -p /media/user/data/agenthle/d/t/base/reference; bash /opt/examhall/boot/linux/adopt.sh; code=$?; rm -r /media/user/data/agenthle/d; exit $code',
    );
    expect(stderr).toContain('/media/user/data/agenthle/d/t/base/reference');
    expect(code).toBe(3);
  }, 60_000);
});

tier('debootstrap')('the files of the Linux recipe', () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'examhall-units-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  it('are scripts that shellcheck finds nothing in', () => {
    const scripts = readdirSync(RECIPE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sh'));
    expect(scripts.length).toBeGreaterThan(8);
    const args = ['-x', '-P', 'SCRIPTDIR', ...scripts.map((name) => path.join(RECIPE, name))];
    const { stdout, status } = spawnSync('shellcheck', args, { encoding: 'utf8', timeout: 60_000 });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  });

  it('are units that systemd-analyze verify passes, with those of the user data', () => {
    const units = path.join(scratch, 'etc/systemd/system');
    mkdirSync(units, { recursive: true });
    for (const name of readdirSync(path.join(RECIPE, 'files')).filter((each) =>
      /\.(?:service|target|slice)$/.test(each),
    ))
      copyFileSync(path.join(RECIPE, 'files', name), path.join(units, name));
    for (const [name, text] of unitsOfUserData()) writeFileSync(path.join(units, name), text);
    fillRoot(scratch);
    const names = readdirSync(units).filter((name) => name.startsWith('examhall'));
    expect(names.length).toBeGreaterThanOrEqual(8);
    const args = ['verify', '--man=no', '--recursive-errors=yes', `--root=${scratch}`, ...names];
    const { stderr, status } = spawnSync('systemd-analyze', args, { encoding: 'utf8', timeout: 60_000 });
    const ours = stderr.split('\n').filter((line) => line.includes('examhall'));
    expect({ ours, status }).toEqual({ ours: [], status: 0 });
  });
});

/** The units that user data writes, as its shell would. */
function unitsOfUserData(): [string, string][] {
  const script = bootScript({
    os: 'linux',
    kind: 'prepared',
    privilege: 'restricted',
    expiresAt: '2030-01-01T00:00:00Z',
    resolution: null,
    archive: null,
  });
  const found = [...script.matchAll(/^cat >\/etc\/systemd\/system\/(\S+) <<'?EOF'?\n([\s\S]*?)\nEOF$/gm)];
  expect(found).toHaveLength(2);
  return found.map(([, name = '', text = '']) => [
    name,
    `${text.replace('$ends_at', '2030-01-01 00:05:00 UTC').replace('${left}', '60')}\n`,
  ]);
}

/** systemd's own units and the programs that ours start, so that nothing is missing but what would be missing. */
function fillRoot(root: string): void {
  cpSync('/lib/systemd/system', path.join(root, 'lib/systemd/system'), { recursive: true, verbatimSymlinks: true });
  const programs = [
    'opt/examhall/linux/display.sh',
    'opt/examhall/linux/session.sh',
    'opt/examhall/linux/cua.sh',
    'usr/sbin/nft',
    'bin/systemctl',
  ];
  for (const program of programs) {
    mkdirSync(path.dirname(path.join(root, program)), { recursive: true });
    writeFileSync(path.join(root, program), '#!/bin/sh\n', { mode: 0o755 });
  }
}
