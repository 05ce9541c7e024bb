import { describe, expect, it } from 'vitest';
import { eventLine, isRunFolderName, RUN_EVENT_TYPES, runFolderName } from '#core/run-tree';

describe('eventLine', () => {
  it('is one line with upstreams keys, to the second', () => {
    const line = eventLine({
      at: '2026-01-02T03:04:05.999Z',
      type: 'provision_done',
      runId: 'r',
      data: { env_id: 'a\nb', machine_type: null },
    });
    expect(line).toBe(
      '{"ts":"2026-01-02T03:04:05Z","type":"provision_done","run_id":"r","data":{"env_id":"a\\nb","machine_type":null}}',
    );
  });

  it('leaves out data that is empty, and refuses a time that is not UTC', () => {
    const event = { at: '2026-01-02T03:04:05Z', type: 'run_started', runId: 'r' } as const;
    expect(eventLine({ ...event, data: {} })).toBe(eventLine(event));
    expect(() => eventLine({ ...event, at: '2026-01-02T03:04:05+01:00' })).toThrow(/not a UTC time/);
  });

  it('knows each event type once', () => {
    expect(new Set(RUN_EVENT_TYPES).size).toBe(RUN_EVENT_TYPES.length);
    expect(RUN_EVENT_TYPES.length).toBeGreaterThan(20);
  });
});

describe('runFolderName', () => {
  it('numbers runs of the same second', () => {
    const names = [0, 1, 2, 11, 100].map((taken) => runFolderName('20260102_030405', taken));
    expect(names).toEqual(['', '_01', '_02', '_11', '_100'].map((end) => `20260102_030405${end}`));
    for (const name of names) expect(isRunFolderName(name)).toBe(true);
  });

  it('refuses other stamps, and tells other folders apart', () => {
    expect(() => runFolderName('2026-01-02', 0)).toThrow(/YYYYMMDD_HHMMSS/);
    for (const name of ['trial_001', '20260102', '20260102_030405_x', '']) expect(isRunFolderName(name)).toBe(false);
  });
});
