import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { settingsChecks } from '#cli/remote/deploy-check-settings';
import { FINANCE_TAGS, SANDBOX_TAGS, STAGE_TAG } from '../../../../infra/constructs/sandbox-tags.ts';

const routesOf = async (file: string) => (await settingsChecks(file)).checks.find(({ name }) => name === 'routes');

describe('looking at settings', () => {
  it('passes the routes of a VPC of ours, which synthesis makes', async () => {
    expect(await routesOf('infra/config/stages/default.json')).toMatchObject({ state: 'pass', remedy: null });
  });

  it('warns where nobody has a role, as in a file that was just copied', async () => {
    const { checks } = await settingsChecks('infra/config/stages/default.json');
    expect(checks.find(({ name }) => name === 'roles')).toMatchObject({ state: 'warn' });
    const example = await settingsChecks('infra/config/stages/example.json');
    expect(example.checks.map(({ name }) => name)).not.toContain('roles');
  });

  it('warns of a file of the stages whose name is another stage, which -c stage would refuse', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'examhall-settings-'));
    const file = path.join(folder, 'stages', 'prod.json');
    mkdirSync(path.dirname(file));
    copyFileSync('infra/config/stages/default.json', file);
    const { checks } = await settingsChecks(file);
    rmSync(folder, { recursive: true });
    expect(checks.find(({ name }) => name === 'stage')).toMatchObject({
      state: 'warn',
      found: 'the file is called prod.json and says "stage": "default"',
    });
  });

  it('says of an existing VPC that nobody looked, and how to', async () => {
    const routes = await routesOf('infra/config/stages/example.json');
    expect(routes).toMatchObject({ state: 'unverified' });
    expect(routes?.found).toContain('nobody looked into vpc-0123456789abcdef0');
    expect(routes?.remedy).toContain(
      'aws ec2 describe-route-tables --route-table-ids rtb-0a0000000000000a0 rtb-0b0000000000000b0 rtb-0c0000000000000c0;',
    );
    expect(routes?.remedy).toContain(
      'aws ec2 describe-vpc-endpoints --filters Name=vpc-id,Values=vpc-0123456789abcdef0',
    );
  });
});

describe('tags that finance activates', () => {
  it('are those that infra/README.md names, and the rest it says to leave', () => {
    const readme = readFileSync('infra/README.md', 'utf8');
    const line = readme.split('\n').find((each) => each.includes('2. Activate ')) ?? '';
    const [activate = '', leave = ''] = line.split(' Leave ');
    expect([...activate.matchAll(/`(examhall:[a-z-]+)`/gu)].map(([, key]) => key)).toEqual([...FINANCE_TAGS]);
    const left = [...leave.matchAll(/`:([a-z-]+)`/gu)].map(([, key]) => `examhall:${key ?? ''}`);
    expect([...FINANCE_TAGS, ...left].toSorted()).toEqual([...SANDBOX_TAGS, STAGE_TAG].toSorted());
  });
});
