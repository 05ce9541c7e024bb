import { describe, expect, it } from 'vitest';
import { objectKeys, rowKeys } from '#core/keys';
import { checkKey } from '#core/row-rules';
import { checkObjectKey } from '#core/object-rules';

const LONGEST_ID = 'x'.repeat(510);

describe('row keys', () => {
  const all = [
    rowKeys.sweep('s'),
    rowKeys.activeSweep('s'),
    rowKeys.knownSweep('s'),
    rowKeys.unit('s', 'u'),
    rowKeys.attempt('u.1'),
    rowKeys.openAttempt('u.1'),
    rowKeys.teardown('u.1', 'machine', 'i-1'),
    rowKeys.detached('i-1'),
    rowKeys.admitWait('s', 'u'),
    rowKeys.jobWait('u.1~run'),
    rowKeys.sandboxWait('u.1'),
    rowKeys.gradeWait('u.1.g1'),
    rowKeys.closeWait('u'),
    rowKeys.slot('u'),
    rowKeys.slotCounters(),
    rowKeys.launch('u.1'),
    rowKeys.coolingPool('aws', 'm7i.large eu-west-1a'),
    rowKeys.launchBrake('aws'),
    rowKeys.command('c-1'),
    rowKeys.commandOf('u.1', 'c-1'),
    rowKeys.commandSentAgain('u.1~run'),
    rowKeys.staticAttachment('sbx-1'),
    rowKeys.staticLock('http://10.1.2.3:5000'),
    rowKeys.sighting('i-1'),
    rowKeys.usage('2026-01-01', 'u.1'),
    rowKeys.publishedTask('demo/copy'),
    rowKeys.publishedAgent('a'),
    rowKeys.idempotency('0'.repeat(64)),
  ];

  it('are each a row of their own', () => {
    expect(all.length).toBe(Object.keys(rowKeys).length);
    expect(new Set(all.map(({ pk, sk }) => JSON.stringify([pk, sk]))).size).toBe(all.length);
  });

  it('fit the store with the longest ids', () => {
    for (const key of [
      rowKeys.unit(LONGEST_ID, LONGEST_ID),
      rowKeys.attempt(`${LONGEST_ID}.1`),
      rowKeys.jobWait(LONGEST_ID),
      rowKeys.admitWait(LONGEST_ID, LONGEST_ID),
      rowKeys.teardown(LONGEST_ID, 'interface', LONGEST_ID),
    ]) {
      expect(checkKey(key)).toEqual(key);
    }
  });

  it('sort attempts by number', () => {
    const keys = [1, 2, 9, 10, 100].map((number) => rowKeys.attempt(`u.${String(number)}`).sk);
    expect(keys.toSorted()).toEqual(keys);
  });

  it('keep attempts of units apart whose ids begin alike', () => {
    expect(rowKeys.attempt('a.b.1').pk).not.toBe(rowKeys.attempt('a.1').pk);
  });
});

describe('object keys', () => {
  it('lie below the folder of what they belong to, and can be stored', () => {
    const attempt = [
      objectKeys.list('u.1', 'stage'),
      objectKeys.output('u.1'),
      objectKeys.originLog('u.1'),
      objectKeys.collectManifest('u.1'),
      objectKeys.grade('u.1', 1),
    ];
    for (const key of attempt) expect(key.startsWith(objectKeys.attempt('u.1'))).toBe(true);
    for (const key of [objectKeys.gradeStage('g'), objectKeys.gradeRaw('g')])
      expect(key.startsWith(objectKeys.gradeFolder('g'))).toBe(true);
    const sweep = [objectKeys.request('s', 2), objectKeys.plan('s', 2), objectKeys.mapResults('s', 2)];
    for (const key of sweep) expect(key.startsWith('sweeps/s/r2/')).toBe(true);
    for (const key of [...attempt, ...sweep, objectKeys.report('s')]) expect(() => checkObjectKey(key)).not.toThrow();
  });

  it('that a guest may write cover nothing that anybody else writes', () => {
    const guests = objectKeys.collected('u.1');
    for (const key of [objectKeys.output('u.1'), objectKeys.originLog('u.1'), objectKeys.collectManifest('u.1')])
      expect(key.startsWith(guests)).toBe(true);
    const ours = [
      objectKeys.grade('u.1', 1),
      objectKeys.film('u.1'),
      objectKeys.finalScreen('u.1'),
      objectKeys.finalScreenshot('u.1'),
      objectKeys.list('u.1', 'stage'),
      objectKeys.bootConsole('u.1'),
      objectKeys.guestReply('u.1', 'r'),
    ];
    for (const key of ours) expect(key.startsWith(guests), key).toBe(false);
  });

  it('of one attempt never begin like those of another', () => {
    expect(objectKeys.output('u.10').startsWith(objectKeys.attempt('u.1'))).toBe(false);
  });
});
