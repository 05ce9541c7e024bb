import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classify, renderBlameTable, SIGNATURES } from '#core/blame';
import { AGENT_EXITED, AGENT_LIMIT_REACHED, AGENT_TIMED_OUT, see, type ErrorSighting } from '#core/blame-signature';
import { LEDGER_CLASSES } from '#core/denominators';
import { ERROR_KINDS, ERROR_NAMES, type ErrorName, type Stage } from '#core/errors';
import { CONFLICT_NAMES, CONNECTION_NAMES, SERVICE_FAULT_NAMES, THROTTLING_NAMES } from '#core/service-faults';

const STAGES = [...new Set(Object.values(ERROR_KINDS).map((kind) => kind.stage))] as readonly Stage[];

const sightings: fc.Arbitrary<ErrorSighting> = fc.record({
  name: fc.oneof(fc.constantFrom(...SIGNATURES.map((row) => row.example.name)), fc.string({ maxLength: 20 })),
  message: fc.oneof(fc.constantFrom(...SIGNATURES.map((row) => row.example.message)), fc.string({ maxLength: 60 })),
  stage: fc.constantFrom(...STAGES),
  agentActed: fc.boolean(),
  evidence: fc.option(fc.string()),
  guestTrusted: fc.boolean(),
});

describe('the blame table', () => {
  it('has at least 40 rows with ids of their own', () => {
    expect(SIGNATURES.length).toBeGreaterThanOrEqual(40);
    expect(new Set(SIGNATURES.map((row) => row.id)).size).toBe(SIGNATURES.length);
  });

  it.each(SIGNATURES.map((row) => [row.id, row] as const))('answers %s with its own row', (id, row) => {
    expect(classify(row.example)).toEqual({ ...row.then, signatureId: id, note: row.note, unknown: false });
  });

  it.each(ERROR_NAMES)('lays %s where the error itself says', (name: ErrorName) => {
    const verdict = classify(see(name, 'nothing more is known', ERROR_KINDS[name].stage));
    expect(verdict.unknown).toBe(false);
    expect(verdict.blame).toBe(ERROR_KINDS[name].blame);
  });

  it('retries only what is laid to the platform, and counts each blame in its own classes', () => {
    const classesOf = { platform: ['lost'], task: ['task_fault'], agent: ['scored', 'forfeited'], caller: ['not_run'] };
    fc.assert(
      fc.property(sightings, (sighting) => {
        const verdict = classify(sighting);
        expect(LEDGER_CLASSES).toContain(verdict.ledgerClass);
        expect(classesOf[verdict.blame]).toContain(verdict.ledgerClass);
        expect(verdict.notRunReason !== null).toBe(verdict.ledgerClass === 'not_run');
        if (verdict.retry) expect(verdict.blame).toBe('platform');
      }),
    );
  });
});

describe('classify', () => {
  it('lays an unknown error to the platform, tries again and says so', () => {
    expect(classify(see('WeirdError', 'never seen', 'stage'))).toMatchObject({
      signatureId: 'unknown',
      blame: 'platform',
      retry: true,
      ledgerClass: 'lost',
      unknown: true,
    });
  });

  const losses = [
    'SandboxLostError',
    'ChannelUnavailableError',
    'Undeliverable',
    'DeliveryTimedOut',
    'Terminated',
    'InvalidInstanceId',
    'InvalidInstanceID.NotFound',
  ];
  it.each(losses)('excuses %s after the agent acted only with the evidence of the provider', (name) => {
    const acted = see(name, 'machine i-0a1', 'collect', { agentActed: true });
    expect(classify(acted)).toMatchObject({ blame: 'agent', retry: false, ledgerClass: 'forfeited' });
    const byGuest = { ...acted, stage: 'run', guestTrusted: false } as const;
    expect(classify(byGuest)).toMatchObject({ blame: 'agent' });
    expect(classify({ ...acted, evidence: 'instance retired' })).toMatchObject({ blame: 'platform', retry: true });
    expect(classify({ ...acted, agentActed: false })).toMatchObject({ blame: 'platform', retry: true });
  });

  it('lays a collect that cannot end to the agent whose output it is', () => {
    const endless = see('CollectFailedError', 'wall-limit (exit code null)', 'collect', { agentActed: true });
    expect(classify(endless)).toMatchObject({ signatureId: 'collect-prevented-by-agent', retry: false });
    expect(classify({ ...endless, evidence: 'system status check impaired' })).toMatchObject({ blame: 'platform' });
  });

  it('does not let an agent talk its way into another attempt', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(AGENT_EXITED, AGENT_TIMED_OUT, AGENT_LIMIT_REACHED, 'GraderFailedError', 'TaskSetupError'),
        fc.constantFrom(...SIGNATURES.map((row) => `${row.example.name}: ${row.example.message}`)),
        (name, quoted) => {
          const verdict = classify(see(name, `exit code 1: ${quoted}`, 'run', { agentActed: true }));
          expect(verdict.retry).toBe(false);
          expect(['agent', 'task']).toContain(verdict.blame);
        },
      ),
    );
  });

  const untrusted = { agentActed: true, guestTrusted: false } as const;
  const guestsDoing = [
    ['CollectFailedError', 'collect'],
    ['CollectFailedError', 'grade'],
    ['AgentLaunchError', 'run'],
    ['StopUnconfirmedError', 'collect'],
    ['ChannelUnavailableError', 'run'],
    ['ChannelUnavailableError', 'collect'],
    ['ChannelUnavailableError', 'grade'],
    ['SandboxLostError', 'collect'],
    ['States.Timeout', 'run'],
    ['States.Timeout', 'collect'],
    ['Sandbox.Timedout', 'run'],
    ['Sandbox.Timedout', 'collect'],
  ] as const satisfies readonly (readonly [string, Stage])[];
  it.each(guestsDoing)(
    'forfeits %s at %s, whatever it says, in a guest the agent may have taken over',
    (name, stage) => {
      fc.assert(
        fc.property(
          fc.constantFrom(...SIGNATURES.map((row) => `${row.example.name}: ${row.example.message}`)),
          (quoted) => {
            const verdict = classify(see(name, `it ended with exit code 1: ${quoted}`, stage, untrusted));
            expect(verdict).toMatchObject({ blame: 'agent', retry: false });
            expect(['scored', 'forfeited']).toContain(verdict.ledgerClass);
          },
        ),
      );
    },
  );

  it.each([
    ['StopUnconfirmedError', 'collect'],
    ['ChannelUnavailableError', 'run'],
  ] as const)(
    'neither lays %s at %s to the agent of a guest that is root’s alone, nor tries again, whatever is quoted',
    (name, stage) => {
      fc.assert(
        fc.property(fc.constantFrom(...SIGNATURES.map((row) => row.example.message)), (quoted) => {
          const seen = see(name, quoted, stage, { ...untrusted, guestTrusted: true });
          expect(classify(seen)).toMatchObject({ blame: 'platform', retry: false, ledgerClass: 'lost' });
          expect(classify({ ...seen, evidence: 'instance retired' })).toMatchObject({ blame: 'platform' });
        }),
      );
      const ours = { blame: 'platform', retry: true };
      const plain = see(name, 'no answer', stage, { agentActed: true });
      expect(classify({ ...plain, evidence: 'instance retired' })).toMatchObject(ours);
      expect(classify({ ...plain, agentActed: false })).toMatchObject(ours);
    },
  );

  it.each(['CollectFailedError', 'AgentLaunchError', 'States.Timeout', 'Sandbox.Timedout'])(
    'believes %s of a guest that is root’s alone, and with the provider’s evidence of any',
    (name) => {
      const seen = see(name, 'upload: HTTP 500', 'collect', { ...untrusted, guestTrusted: true });
      const ours = { blame: 'platform', retry: true };
      expect(classify(seen)).toMatchObject(ours);
      expect(classify({ ...seen, guestTrusted: false, evidence: 'system status check impaired' })).toMatchObject(ours);
      expect(classify({ ...seen, guestTrusted: false, agentActed: false })).toMatchObject(ours);
    },
  );

  it.each([
    'StoreUnavailableError',
    'ConditionFailedError',
    'HeartbeatLostError',
    'States.HeartbeatTimeout',
    'Lambda.ServiceException',
    'Lambda.TooManyRequestsException',
    'Lambda.Unknown',
    'SdkClientException',
    'States.TaskFailed',
    'Runtime.ExitError',
    'Runtime.OutOfMemory',
    'ServiceUnavailable',
    'ThrottlingException',
  ])('keeps %s ours, whoever the guest belongs to: a call or a function of our own failed', (name) => {
    for (const stage of ['run', 'collect'] as const) {
      const ours = { blame: 'platform', retry: true, unknown: false };
      expect(classify(see(name, 'no answer', stage, untrusted))).toMatchObject(ours);
    }
  });

  it.each(['TypeError', 'ZodError', 'RequestTooLargeException', 'never heard of'])(
    'asks for a row for %s, whoever the guest belongs to: it is a bug of ours',
    (name) => {
      for (const stage of ['run', 'collect', 'grade'] as const) {
        const unknown = { signatureId: 'unknown', blame: 'platform', retry: true, unknown: true };
        expect(classify(see(name, 'nobody knows', stage, untrusted))).toMatchObject(unknown);
      }
    },
  );

  it('knows every passing fault of a service that adapters try again, and tries again too', () => {
    for (const name of [...THROTTLING_NAMES, ...SERVICE_FAULT_NAMES, ...CONFLICT_NAMES, ...CONNECTION_NAMES]) {
      const verdict = classify(see(name, 'no answer', 'collect', untrusted));
      expect(verdict, name).toMatchObject({ blame: 'platform', retry: true, unknown: false });
    }
  });

  it('tells a disk the agent filled from one of ours', () => {
    const full = 'ENOSPC: no space left on device';
    expect(classify(see('Error', full, 'run', { agentActed: true })).blame).toBe('agent');
    expect(classify(see('Error', full, 'record', { agentActed: true }))).toMatchObject({
      blame: 'platform',
      retry: false,
    });
  });

  it('does not count an attempt that a restart of the host ended', () => {
    const verdict = classify(see('HostRestartedError', 'found open', 'run', { agentActed: true }));
    expect(verdict).toMatchObject({ blame: 'platform', retry: true, countsAsAttempt: false });
  });

  it('finds a provider code inside a wrapped message, but only as a whole word', () => {
    const wrapped = see('CapacityUnavailableError', 'eu-west-1a: InsufficientInstanceCapacity', 'provision');
    expect(classify(wrapped).signatureId).toBe('ec2-no-capacity');
    const inside = see('CapacityUnavailableError', 'NotInsufficientInstanceCapacity2', 'provision');
    expect(classify(inside).signatureId).toBe('capacity-unavailable');
  });
});

describe('renderBlameTable', () => {
  it('has a line for each row and the same number of cells on each', () => {
    const lines = renderBlameTable().trimEnd().split('\n');
    expect(lines.length).toBe(SIGNATURES.length + 2);
    for (const line of lines) expect(line.split(/(?<!\\)\|/u).length).toBe(9);
    expect(lines.some((line) => line.includes('`host-restarted`') && line.includes('yes, not counted'))).toBe(true);
  });
});
