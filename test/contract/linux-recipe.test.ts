import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { AGENT_ACCOUNTS, GUEST_PATHS } from '#core/boot-script';
import { quoteShell } from '#core/boot-script-linux';
import { deriveScript, sealScript } from '#core/image-adoption-scripts';
import { imageFamily } from '#core/image-family';
import { recipeRoot, type RecipeRoot } from '#test/emulators/debian-root';
import { tier } from '../runner/tier.ts';
import { LEFT, THEIRS, USED } from './foreign-machine.ts';

const VerdictSchema = z.object({
  image: z.literal('ubuntu-desktop'),
  ok: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean().nullable(), seen: z.string() })).min(20),
});

type Verdict = z.infer<typeof VerdictSchema>;

/** What no chroot shows: it has no systemd running. */
const NEEDS_BOOT = ['dead-man', 'units-active'];
const NEEDS_DESKTOP = ['cua-answers', 'cua-as-agent', 'cua-gains-no-rights', 'metadata', 'screen'];

const UNITS = ['display', 'session', 'cua'];

/** What systemd itself makes of a unit with its drop-ins. */
async function gainsNoRights(root: string, unit: string): Promise<boolean | undefined> {
  const args = [
    'security',
    '--offline=yes',
    `--root=${root}`,
    '--no-pager',
    '--json=short',
    `examhall-${unit}.service`,
  ];
  const { stdout } = await promisify(execFile)('systemd-analyze', args, { timeout: 60_000 });
  const found = z.array(z.object({ set: z.boolean().nullable(), name: z.string() })).parse(JSON.parse(stdout));
  return found.find(({ name }) => name === 'NoNewPrivileges=')?.set ?? undefined;
}

/** What a unit starts, in the environment that it gives, without systemd. */
const asAgent = (command: string, uid = 1100): string =>
  `setpriv --reuid ${String(uid)} --regid ${String(uid)} --clear-groups --no-new-privs env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/user USER=user DISPLAY=:0 LANG=C.UTF-8 EXAMHALL_RESOLUTION=1280x800 ${command}`;

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
      expect(unseen(verdict)).toEqual([...NEEDS_BOOT, ...NEEDS_DESKTOP].sort());
      expect({ code, ok: verdict.ok }).toEqual({ code: 0, ok: true });
      expect(await Promise.all(UNITS.map((unit) => gainsNoRights(root.folder, unit)))).toEqual(
        UNITS.map(() => privilege === 'restricted'),
      );
    },
    180_000,
  );

  const desktop = (start: (command: string) => string): string =>
    [
      configure('restricted'),
      'nft -f /etc/examhall/metadata.nft',
      'mkdir -p -m 1777 /tmp/.X11-unix',
      ...['display', 'session', 'cua'].map(
        (name) => `${start(`/opt/examhall/linux/${name}.sh`)} >/tmp/${name}.log 2>&1 &`,
      ),
      'for i in $(seq 240); do curl -fs http://127.0.0.1:5000/status >/dev/null && break; sleep 0.25; done',
      'curl -fs http://127.0.0.1:5000/status >/dev/null || { cat /tmp/*.log >&2; exit 9; }',
    ].join('\n');

  it('shows a picture of the asked size through a cua-server that is the agent', async () => {
    const { verdict } = await verify(desktop(asAgent), 'EXAMHALL_VERIFY_DESKTOP=1');
    expect(failed(verdict)).toEqual([]);
    expect(unseen(verdict)).toEqual(NEEDS_BOOT);
    expect(verdict.checks.find(({ name }) => name === 'screen')?.seen).toMatch(/^1280x800 brightness/);
  }, 180_000);

  it('does not pass a cua-server whose programs may gain rights, nor a metadata address that others reach', async () => {
    const rights = desktop((command) => asAgent(command).replace('--no-new-privs ', ''));
    const open = `sed 's/skuid != 0/skuid 1100/' /etc/examhall/metadata.nft | nft -f -`;
    const { verdict } = await verify(`${rights}\n${open}`, 'EXAMHALL_VERIFY_DESKTOP=1');
    expect(failed(verdict).map(({ name }) => name)).toEqual(['cua-gains-no-rights', 'metadata']);
  }, 180_000);

  const ofNft = `sed -n '/^metadata_shut() {/,/^}/p' /opt/examhall/linux/verify.sh >/tmp/shut.sh; . /tmp/shut.sh; metadata_shut`;
  const shut = 'nft -f /etc/examhall/metadata.nft';
  it.each([
    ['restricted', shut, 0],
    ['restricted', `${shut}; grep -v 169.254 /etc/examhall/metadata.nft | nft -f -`, 1],
    ['restricted', `${shut}; grep -v fd00:ec2 /etc/examhall/metadata.nft | nft -f -`, 1],
    ['restricted', `sed 's/254 counter reject/254 counter accept/' /etc/examhall/metadata.nft | nft -f -`, 1],
    ['restricted', 'true', 1],
    ['upstream', 'true', 0],
    ['upstream', `grep -v 169.254 /etc/examhall/metadata.nft | nft -f -`, 1],
  ])('sees both metadata addresses shut, or as %s neither: %s', async (privilege, rules, wanted) => {
    const { stdout, code } = await root.run(`${rules}\nprivilege=${privilege}\n${ofNft}`);
    expect({ code, stdout }).toEqual({ code: wanted, stdout: expect.stringContaining(`${privilege}: `) as string });
  });

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
    [
      'a restricted agent that is more than one user',
      'echo user:100000:65536 >>/etc/subuid',
      'agent-is-one-user',
      'sed -i /^user:/d /etc/subuid',
    ],
    [
      'a restricted desktop that may gain rights',
      'rm /etc/systemd/system/examhall-cua.service.d/restricted.conf',
      'agent-gains-no-rights',
      'true',
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
    const given = `usermod -aG sudo user; echo 'user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/zz-own
for ranges in /etc/subuid /etc/subgid; do printf 'user:100000:65536\\n1100:200000:65536\\nother:300000:65536\\n' >$ranges; done`;
    const { verdict } = await verify(`${given}\n${configure('restricted')}`);
    expect(failed(verdict)).toEqual([]);
    const { stdout } = await root.run('cat /etc/subuid /etc/subgid');
    expect(stdout.trim().split('\n')).toEqual(['other:300000:65536', 'other:300000:65536']);
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
        `echo "shut: agent $(${asAgent(get)} || true), one of its users $(${asAgent(get, 100_000)} || true), root $(${get} || true)"`,
      ].join('\n'),
    );
    expect({ lines: stdout.trim().split('\n'), stderr }).toMatchObject({
      lines: ['open: agent 200', 'shut: agent 000, one of its users 000, root 200'],
    });
  }, 120_000);

  it('stops the users below the agent with it, and nobody else', async () => {
    const { stdout, code } = await root.run(
      [
        'set -e',
        'cp /etc/subuid /tmp/subuid; echo user:100000:65536 >>/etc/subuid',
        'mkdir -p /tmp/jobs',
        `${asAgent('sleep 600', 100_000)} & below=$!`,
        `${asAgent('sleep 600', 200_000)} & other=$!`,
        '/opt/examhall/node/bin/node /opt/examhall/runner.mjs stop /tmp/jobs job-1 --uid 1100',
        'cp /tmp/subuid /etc/subuid',
        'if kill -0 $below 2>/dev/null; then echo below lives; fi',
        'if kill -0 $other 2>/dev/null; then echo other lives; fi',
      ].join('\n'),
    );
    const [report = '', ...alive] = stdout.trim().split('\n');
    expect({ report: JSON.parse(report) as unknown, alive, code }).toEqual({
      report: { confirmedDead: true, survivors: 0 },
      alive: ['other lives'],
      code: 0,
    });
  }, 60_000);

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

  it('makes ours of a machine of somebody else, and seals it: nothing of the one machine goes into copies', async () => {
    const archive = readFileSync(path.join(root.folder, 'opt/boot.tar.gz'));
    const server = createServer((_, answer) => answer.end(archive)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${String(port)}/boot.tar.gz`;
    const sha256 = createHash('sha256').update(archive).digest('hex');
    const steps = [THEIRS, deriveScript('linux', { url, sha256 }), USED, sealScript('linux'), LEFT];
    const script = steps.map((step) => `bash -c ${quoteShell(step)} || exit 9\necho ---`).join('\n');
    const { stdout, stderr, code } = await root.run(script, { network: 'host', timeoutSeconds: 280, keeps: false });
    server.close();
    const [theirs, derived = '', used, sealed, left] = stdout.split('---\n').map((text) => text.trim());
    expect({ code, theirs, used, sealed }, stderr).toEqual({ code: 0, theirs: '1000', used: '', sealed: 'DONE' });
    expect(derived.split('\n')).toHaveLength(1);
    const verdict = VerdictSchema.parse(JSON.parse(derived));
    expect({ ok: verdict.ok, failed: failed(verdict) }).toEqual({ ok: true, failed: [] });
    expect(left?.split('\n')).toEqual(['1100:1100 1100:1100', 'kept', 'clean --logs --machine-id', 'end']);
  }, 300_000);
});
