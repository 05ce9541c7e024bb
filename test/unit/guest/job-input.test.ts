import { describe, expect, it } from 'vitest';
import { JobInputError, parseBatch, parseJob } from '#guest/job-input';

const good = {
  version: 1,
  jobId: 'demo__scripted__none__x__v0.1~run',
  kind: 'exec',
  wallSeconds: 5,
  account: { name: 'user', uid: 70001, gid: 70001, home: '/home/user' },
  isolation: { kind: 'namespaces', hostname: 'box', mounts: [{ source: '/usr', target: '/usr', readOnly: true }] },
  argv: ['true'],
  env: { A: 'b' },
  cwd: '/',
  stdin: null,
  outputLimitMiB: 1,
};

describe('reading a job', () => {
  it('takes what keeps the contract', () => {
    expect(parseJob(JSON.stringify(good))).toEqual(good);
    expect(parseJob(JSON.stringify({ ...good, isolation: { kind: 'none', home: '/x' } }))).toMatchObject({
      isolation: { home: '/x' },
    });
  });

  const mount = (source: string, target: string): unknown => ({
    ...good.isolation,
    mounts: [{ source, target, readOnly: true }],
  });

  it.each([
    ['another version', { version: 2 }, /version is 2; allowed: 1/],
    ['a job id that leads elsewhere', { jobId: '../x' }, /jobId is "\.\.\/x"/],
    ['a hidden job id', { jobId: '.closed' }, /jobId/],
    ['no wall limit', { wallSeconds: 0 }, /wallSeconds is 0/],
    ['root as the account', { account: { ...good.account, uid: 0 } }, /account\.uid is 0; .*never root/],
    ['an account name that is a line of passwd', { account: { ...good.account, name: 'a:0\nroot' } }, /account\.name/],
    ['a variable name that is shell code', { env: { 'A;reboot': '' } }, /a name in env is "A;reboot"/],
    ['NUL in an argument', { argv: ['a\0b'] }, /argv\[0\]/],
    ['no program', { argv: [] }, /argv is \[\]/],
    ['a relative folder', { cwd: 'x' }, /cwd is "x"; allowed: an absolute path/],
    ['the whole disk', { isolation: mount('/', '/x') }, /source is "\/"/],
    ['the host’s /proc', { isolation: mount('/proc', '/x') }, /source is "\/proc"/],
    ['a mount over the root', { isolation: mount('/usr', '/') }, /target is "\/"/],
    ['a mount over /proc', { isolation: mount('/usr', '/proc/sys') }, /target/],
    ['a way out of a mount', { isolation: mount('/usr/../root', '/x') }, /source/],
    ['an unknown isolation', { isolation: { kind: 'docker' } }, /allowed: none, namespaces/],
    ['a hostname that is shell code', { isolation: { ...good.isolation, hostname: "x'; reboot" } }, /hostname/],
    ['an unknown kind', { kind: 'dance' }, /kind is "dance"; allowed: exec, fetch, collect/],
  ])('refuses %s', (_, change, message) => {
    expect(() => parseJob(JSON.stringify({ ...good, ...change }))).toThrow(message);
    expect(() => parseJob(JSON.stringify({ ...good, ...change }))).toThrow(JobInputError);
  });

  it('refuses what is no JSON, and a batch without calls', () => {
    expect(() => parseJob('{')).toThrow(/one JSON object/);
    const { version, account, isolation } = good;
    expect(() => parseBatch(JSON.stringify({ version, account, isolation, timeoutSeconds: 1 }))).toThrow(
      /calls is missing/,
    );
  });
});
