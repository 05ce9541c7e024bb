import { describe, expect, it } from 'vitest';
import { formatProblem } from '#core/located';
import {
  cardNetworkRefusal,
  effectivePrivilege,
  effectiveTimeoutSeconds,
  readTaskCard,
  requestedShape,
} from '#core/task-card';

function problems(value: unknown): string[] {
  return readTaskCard(value).problems.map((problem) => formatProblem(problem).slice('task_card.json:1:1: '.length));
}

describe('a task card', () => {
  it('may say anything in keys that nothing reads', () => {
    const card = {
      taskId: 'demo/hello',
      taxonomy: { domain_id: 1, classifier: { rationale: 'x' } },
      inputFiles: [{ name: 'a' }],
      variants: 5,
      status: null,
      vm: {
        snapshot: 'cpu-free-ubuntu',
        vcpus: 4,
        memory_gb: 16,
        disk_gb: 200,
        timeout_s: 1800,
        project: 'old',
        osType: 'linux',
      },
    };
    expect(readTaskCard(card)).toEqual({
      card: {
        title: null,
        snapshot: 'cpu-free-ubuntu',
        machineType: null,
        timeoutSeconds: null,
        vCpus: 4,
        memoryGiB: 16,
        network: { mode: 'open', allow: [] },
        privilege: null,
        grading: { mode: 'light', timeoutSeconds: 600 },
      },
      problems: [],
    });
  });

  it('from before there was a vm key is read from its top level', () => {
    expect(readTaskCard({ snapshot: 'cpu-free', machineType: 'n2-standard-4', timeout: 60 }).card).toMatchObject({
      snapshot: 'cpu-free',
      machineType: { vCpus: 4 },
      timeoutSeconds: 60,
    });
    expect(readTaskCard({ vm: {}, vm_category: 'gpu-free', timeout: null })).toMatchObject({
      card: { snapshot: 'gpu-free', timeoutSeconds: null },
      problems: [],
    });
    expect(readTaskCard({ vm: { timeout: 5 }, snapshot: 'ignored', timeout: 9 }).card).toMatchObject({
      snapshot: null,
      timeoutSeconds: 5,
    });
  });

  it('without a vm or a timeout is accepted', () => {
    expect(readTaskCard({ title: 'x' })).toMatchObject({
      card: { title: 'x', snapshot: null, timeoutSeconds: null },
      problems: [],
    });
  });

  it('may set our own keys', () => {
    const vm = { privilege: 'upstream', network: { mode: 'allowlist', allow: ['a.example'] } };
    expect(readTaskCard({ vm, grading: { mode: 'same-sandbox', timeoutSeconds: 30 } })).toMatchObject({
      card: { privilege: 'upstream', network: vm.network, grading: { mode: 'same-sandbox', timeoutSeconds: 30 } },
      problems: [],
    });
  });
});

const seconds = 'allowed: a whole number 1 or more; write plain digits, or remove the key for 7200';
const badCards: readonly (readonly [unknown, string])[] = [
  [{ vm: 'x' }, '"vm" is not an object; got "x"; allowed: an object; write it as {"snapshot": "..."}'],
  [{ vm: { timeout: true } }, `"vm.timeout" is not a whole number 1 or more; got true; ${seconds}`],
  [{ vm: { timeout: 1.5 } }, `"vm.timeout" is not a whole number 1 or more; got 1.5; ${seconds}`],
  [{ vm: { timeout: 0 } }, `"vm.timeout" is not a whole number 1 or more; got 0; ${seconds}`],
  [{ vm: { timeout: '2h' } }, `"vm.timeout" is not a whole number 1 or more; got "2h"; ${seconds}`],
  [
    { vm: { timeout: null } },
    'the timeout has no value; got null; allowed: a whole number of seconds 1 or more; write one, or remove the key for 7200',
  ],
  [
    { vm: { snapshot: 3 } },
    'the snapshot is not a tag; got 3; allowed: the tag of a snapshot as text, such as "cpu-free-ubuntu"; name a snapshot that the environment maps',
  ],
  [
    { vm: { vcpus: 0 } },
    '"vm.vcpus" is not a whole number 1 or more; got 0; allowed: a whole number 1 or more; write plain digits',
  ],
  [
    { vm: { memory_gb: -1 } },
    '"vm.memory_gb" is not a number above 0; got -1; allowed: a number above 0; write plain digits (YAML 1.1 reads 1e3 as text)',
  ],
  [
    { vm: { privilege: 'sudo' } },
    '"vm.privilege" is not one of the allowed values; got "sudo"; allowed: upstream, restricted; choose one of them, or remove the key',
  ],
  [
    { vm: { network: 'off' } },
    '"vm.network" is not a mapping; got "off"; allowed: a mapping of keys to values; write "vm.network" as "key: value" lines',
  ],
  [
    { vm: { network: { mode: 'closed' } } },
    '"vm.network.mode" is not one of the allowed values; got "closed"; allowed: open, sealed, allowlist, off; choose one of them, or remove the key',
  ],
  [
    { vm: { network: { mode: 'allowlist' } } },
    'missing required key "vm.network.allow"; got nothing; allowed: a list of host names; add the hosts the task needs, or []',
  ],
  [
    { vm: { network: { mode: 'allowlist', allow: [1] } } },
    '"vm.network.allow" is not a list of texts; got a list of 1; allowed: a list of non-empty texts; write it as [first, second]',
  ],
  [
    { grading: { mode: 'sandbox' } },
    'grading mode "sandbox" is not available yet; got "sandbox"; allowed: light, same-sandbox; use one of these',
  ],
  [
    { grading: { mode: 'container' } },
    'grading mode "container" is not available yet; got "container"; allowed: light, same-sandbox; use one of these',
  ],
  [
    { grading: { timeoutSeconds: 601 } },
    '"grading.timeoutSeconds" is not a whole number from 1 to 600; got 601; allowed: a whole number from 1 to 600; write plain digits',
  ],
  [{ grading: { timeout: 3 } }, 'unknown key in "grading"; got "timeout"; allowed: mode, timeoutSeconds; remove it'],
];

describe('a bad card', () => {
  it.each(badCards)('%j', (card, message) => {
    expect(problems(card)).toEqual([message]);
  });
});

describe('what a unit gets', () => {
  const card = (value: unknown) => readTaskCard(value).card;

  it('is the time of the experiment, else of the card, else two hours', () => {
    expect(effectiveTimeoutSeconds(card({ vm: { timeout: '90' } }), 30)).toBe(30);
    expect(effectiveTimeoutSeconds(card({ vm: { timeout: '90' } }), null)).toBe(90);
    expect(effectiveTimeoutSeconds(card({ vm: { timeout_s: 90 } }), null)).toBe(7200);
  });

  it('is the privilege of the experiment, else of the card, else restricted', () => {
    expect(effectivePrivilege(card({ vm: { privilege: 'upstream' } }), 'restricted')).toBe('restricted');
    expect(effectivePrivilege(card({ vm: { privilege: 'upstream' } }), null)).toBe('upstream');
    expect(effectivePrivilege(card({}), null)).toBe('restricted');
  });

  it('is a machine of the size asked for', () => {
    expect(requestedShape(card({ vm: { machineType: 'g2-standard-8' } }))).toEqual({
      vCpus: 8,
      memoryMiB: 32768,
      gpus: 1,
    });
    expect(requestedShape(card({ vm: { machineType: 'g2-standard-8', vcpus: 2, memory_gb: 1.5 } }))).toEqual({
      vCpus: 2,
      memoryMiB: 1536,
      gpus: 1,
    });
    expect(requestedShape(card({}))).toEqual({ vCpus: null, memoryMiB: null, gpus: 0 });
  });

  it('is an open network, or a reason', () => {
    expect(cardNetworkRefusal(card({}))).toBeNull();
    expect(cardNetworkRefusal(card({ vm: { network: { mode: 'off' } } }))).toMatch(/^network "off" is not available: /);
    expect(cardNetworkRefusal(card({ vm: { network: { mode: 'allowlist', allow: [] } } }))).toMatch(
      /^network "allowlist" is not available: /,
    );
  });
});
