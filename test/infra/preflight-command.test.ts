import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { PREFLIGHT_CHECKS } from '#core/preflight-checks';
import { tier } from '#test/runner/tier';
import { endAllCli, type CliEnd } from '../e2e/cli-process.ts';
import { wallsOfDeployment } from './hostile-walls.ts';
import { PreflightStage } from './preflight-stage.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

/** What needs another wall than those that are taken away: the system's own accounts, and the runner's stop. */
const STILL_REFUSED = ['signal-root', 'become-root', 'stop-timer', 'start-later', 'outlive-stop'];
const IDS = PREFLIGHT_CHECKS.map(({ id }) => id);

const RecordSchema = z.strictObject({
  version: z.literal(1),
  at: z.iso.datetime(),
  stage: z.literal('test'),
  region: z.literal('us-east-1'),
  sandboxId: z.string(),
  attemptId: z.string(),
  privilege: z.literal('restricted'),
  unknownFacts: z.array(z.string()),
  checks: z.array(
    z.strictObject({
      id: z.string(),
      verdict: z.enum(['refused', 'reached', 'unknown']),
      evidence: z.string().min(1),
      tries: z.string(),
      refusedWhen: z.string(),
      from: z.enum(['agent', 'root', 'outside']),
    }),
  ),
});

/** Verdicts as the lines of a text name them. */
function verdictsIn({ stdout }: CliEnd): Readonly<Record<string, string>> {
  const lines = [...stdout.matchAll(/^(refused|reached|unknown) +([a-z-]+) \((?:agent|root|outside)\): ./gmu)];
  return Object.fromEntries(lines.map(([, verdict = '', id = '']) => [id, verdict]));
}

const verdicts = (of: (id: string) => string): Readonly<Record<string, string>> =>
  Object.fromEntries(IDS.map((id) => [id, of(id)]));

tier('isolation')('examhall preflight of a stage on the stand-in', () => {
  tier('nftables')('with sandboxes in the network of a deployment', () => {
    let stage: PreflightStage;
    const recordIn = (file: string) =>
      RecordSchema.parse(JSON.parse(readFileSync(path.join(stage.folder, file), 'utf8')));

    beforeAll(async () => {
      stage = await PreflightStage.open(wallsOfDeployment());
    });
    afterAll(async () => {
      await endAllCli();
      await stage.close();
    });

    it('tells of a sandbox as it is shipped that everything was refused, keeps the evidence, and exits with 0', async () => {
      const end = await stage.preflight('shipped', []);
      expect(verdictsIn(end), `${end.stdout}${end.stderr}`).toEqual(verdicts(() => 'refused'));
      expect(IDS.length).toBeGreaterThanOrEqual(25);
      expect(end.stdout).toContain(`${String(IDS.length)} refused, 0 reached, 0 unknown\n`);
      expect(end.code).toBe(0);
      const record = recordIn(`preflight-${stage.idOf('shipped')}.json`);
      expect(record.checks.map(({ id }) => id)).toEqual(IDS);
      expect(record.unknownFacts).toEqual([]);
      expect(record.checks.find(({ id }) => id === 'changed-link')?.evidence).toContain('SignatureDoesNotMatch');
      expect(await stage.followLink('shipped')).toBe('status 200 its own');
      const role = record.checks.filter(({ id }) => id.startsWith('role-'));
      expect(role.length).toBeGreaterThan(5);
      for (const { id, evidence } of role) expect(evidence, id).toContain('not authorized to perform');
    });

    it('names what is reached where the walls were taken away, and exits with another code', async () => {
      stage.groups(false);
      const end = await stage.preflight('loose', []);
      stage.groups(true);
      expect(verdictsIn(end), `${end.stdout}${end.stderr}`).toEqual(
        verdicts((id) => (STILL_REFUSED.includes(id) ? 'refused' : 'reached')),
      );
      const reached = IDS.length - STILL_REFUSED.length;
      expect(end.stdout).toContain(`${String(STILL_REFUSED.length)} refused, ${String(reached)} reached, 0 unknown\n`);
      expect(end.code).toBe(1);
    });

    it('prints what it writes down as one JSON object, and ends the machine when it is asked to', async () => {
      const over = new AbortController();
      const [end] = await Promise.all([
        stage.preflight('shipped', ['--json', '--end', '--record', 'asked-for.json']).finally(() => over.abort()),
        stage.letEnd('shipped', over.signal),
      ]);
      expect(end.code, end.stderr).toBe(0);
      const record = RecordSchema.parse(JSON.parse(end.stdout));
      expect(recordIn('asked-for.json')).toEqual(record);
      expect(record.checks.map(({ id, verdict }) => [id, verdict])).toEqual(IDS.map((id) => [id, 'refused']));
      expect(end.stderr).toContain(`${stage.idOf('shipped')} is gone\n`);
      const { machines } = stage.world.cloud;
      expect(machines.all.get(stage.idOf('shipped'))?.state).toBe('terminated');
      expect(machines.all.get(stage.idOf('loose'))?.state).toBe('running');
    });
  });
});
