import { createHash } from 'node:crypto';
import {
  buildRecord,
  recordText,
  type EarlierAttempt,
  type Lock,
  type LockEntry,
  type LockKey,
  type RecordContent,
  type RunRecord,
} from '#core/record';
import { guiEventLine } from '#core/cua/gui-event';
import { readGuiEvents } from '#core/gui-event';
import { buildEvalResult, buildRunJson, jsonFile } from '#core/run-json';
import { eventLine } from '#core/run-tree';
import { evalStatusOf, unitStatusOf } from '#core/status';
import { buildTrajectory, type BuiltTrajectory } from '#core/trajectory';
import type { TrajectoryDraft } from '#core/trajectory-types';
import type { VerifyReader } from '#core/verify';

export const RUN_ID = 'scripted__m-1__demo__hello__v0__20260102_030405';

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** A draft with a call, its result in a step of the environment, and a picture. */
export const DRAFT: TrajectoryDraft = {
  steps: [
    {
      source: 'agent',
      message: 'I look first.',
      reasoning_content: 'hm',
      tool_calls: [{ tool_call_id: 'call_1', function_name: 'screenshot', arguments: {} }],
      metrics: { prompt_tokens: 10, completion_tokens: 3, cost_usd: 0.25, cache_creation_tokens: 2 },
    },
    {
      source: 'environment',
      observation: {
        results: [
          {
            source_call_id: 'call_1',
            content: [{ type: 'image', source: { media_type: 'image/png', base64: 'iVBORw0KGgo=' } }],
          },
        ],
      },
    },
    { source: 'agent', message: 'Done – fertig.', metrics: { prompt_tokens: 5, completion_tokens: 1, cost_usd: 0.5 } },
  ],
  agentVersion: '1.2.3',
};

export function sampleTrajectory(draft: TrajectoryDraft = DRAFT): BuiltTrajectory {
  return buildTrajectory({
    sessionId: '0f'.repeat(16),
    agent: { name: 'scripted', version: null, model: 'm-1' },
    taskPath: 'demo/hello',
    variant: 0,
    prompt: 'Copy the code.',
    startedAt: '2026-01-02T03:04:10.000Z',
    endedAt: '2026-01-02T03:05:10.000Z',
    outcome: 'completed',
    score: 0.75,
    durationSeconds: 60,
    draft,
  });
}

const END = {
  outcome: { kind: 'completed', exitCode: 0, durationSeconds: 60, message: null },
  grade: { kind: 'graded', score: 0.75, detail: { gates: 3 } },
  begun: true,
} as const;

const GUI_CALLS = [
  { tool: 'screenshot', arguments: {}, ok: true },
  { tool: 'click', arguments: { coordinate: [500, 999] }, pixels: [{ x: 640, y: 799 }], ok: false, error: 'no answer' },
];
const GUI_EVENTS = readGuiEvents(
  GUI_CALLS.map((call) => guiEventLine({ at: '2026-01-02T03:04:20.000Z', durationMs: 40, ...call })).join(''),
  { startedAt: '2026-01-02T03:04:10.000Z', endedAt: '2026-01-02T03:05:10.000Z' },
  false,
);

function lockEntry(key: LockKey): LockEntry {
  return { value: `${key} 1`, sha256: key === 'model' ? null : sha256(key) };
}

export function sampleLock(changes: Partial<Lock> = {}): Lock {
  return {
    code: lockEntry('code'),
    data: lockEntry('data'),
    image: lockEntry('image'),
    shape: lockEntry('shape'),
    harness: lockEntry('harness'),
    model: lockEntry('model'),
    limits: lockEntry('limits'),
    network: lockEntry('network'),
    privilege: lockEntry('privilege'),
    grader: lockEntry('grader'),
    promptSuffix: lockEntry('promptSuffix'),
    retryRule: lockEntry('retryRule'),
    ...changes,
  };
}

const EARLIER: EarlierAttempt = {
  attemptId: 'first__scripted__m-1__demo__hello__v0.1',
  runDir: null,
  status: 'failed',
  verdict: {
    signatureId: 'provision-failed',
    blame: 'platform',
    retry: true,
    countsAsAttempt: true,
    ledgerClass: 'lost',
    notRunReason: null,
    unknown: false,
    note: 'the sandbox could not be made',
  },
};

export function sampleContent(): RecordContent {
  return {
    ids: {
      sweepId: 'first',
      run: 1,
      unitId: 'first__scripted__m-1__demo__hello__v0',
      attemptId: 'first__scripted__m-1__demo__hello__v0.2',
      runId: RUN_ID,
      agentId: 'scripted',
      model: 'm-1',
      taskPath: 'demo/hello',
      variant: 0,
      variantName: 'base',
      trial: 1,
    },
    lock: sampleLock(),
    isolation: { kind: 'namespaces', network: 'own', reason: null },
    screen: {
      screenshots: 1,
      final: { path: null, takenAt: '2026-01-02T03:05:11.000Z', problem: 'the desktop gave no answer' },
      guiEvents: GUI_EVENTS.counts,
    },
    outcome: END.outcome,
    grade: END.grade,
    ledgerClass: 'scored',
    status: unitStatusOf(END),
    evalStatus: evalStatusOf(END.grade),
    error: null,
    verdict: null,
    rawGraderOutput: { end: 'returned', value: { score: 0.75, gates: 3 } },
    attemptsBefore: [EARLIER],
    cost: [
      { part: 'machine', basis: 'estimated', usd: 0.01, note: 'price sheet 2026-11-01' },
      { part: 'tokens', basis: 'unknown', usd: null, note: null },
    ],
    timings: [
      { stage: 'run', startedAt: '2026-01-02T03:04:10.000Z', endedAt: '2026-01-02T03:05:10.000Z', seconds: 60 },
    ],
    versions: { examHall: '0.1.0', node: '20.20.2', agent: '1.2.3', guestRunner: null },
    unverified: ['Windows command lines'],
  };
}

/** A whole run folder in memory, `record.json` included. */
export class MemoryRunFolder implements VerifyReader {
  readonly files: Map<string, Uint8Array>;
  record: RunRecord;

  constructor(extraFiles: Readonly<Record<string, Uint8Array>> = {}) {
    this.files = new Map([...sampleFiles(), ...Object.entries(extraFiles)]);
    const listed = [...this.files].map(([path, bytes]) => ({ path, sizeBytes: bytes.length, sha256: sha256(bytes) }));
    this.record = buildRecord(sampleContent(), listed, sha256);
    this.files.set('record.json', Buffer.from(recordText(this.record)));
  }

  async list(): Promise<readonly { readonly path: string; readonly size: number }[]> {
    return [...this.files].map(([path, bytes]) => ({ path, size: bytes.length }));
  }

  async sha256(path: string): Promise<string> {
    return sha256(this.bytes(path));
  }

  async readText(path: string): Promise<string> {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.bytes(path));
  }

  bytes(path: string): Uint8Array {
    const bytes = this.files.get(path);
    if (bytes === undefined) throw new Error(`no file ${path}`);
    return bytes;
  }
}

function sampleFiles(): Map<string, Uint8Array> {
  const { trajectory, usage, screenshots } = sampleTrajectory();
  const run = buildRunJson({
    runId: RUN_ID,
    at: '2026-01-02T03:06:00.123Z',
    agent: {
      id: 'scripted',
      class: 'scripted',
      name: 'scripted',
      version: '1.2.3',
      model: 'm-1',
      executor: 'sandbox',
      config: { api_key: 'sk-0123456789abcdef0123', max_turns: 5 },
    },
    task: { path: 'demo/hello', variant: 0, revision: `sha256:${'a'.repeat(64)}` },
    environment: {
      provider: 'process',
      snapshot: 'cpu-free-ubuntu',
      image: 'ale-ubuntu22',
      imageRevision: null,
      network: 'open',
      privilege: 'restricted',
    },
    end: END,
    phase: 'cleanup',
    error: null,
    durationSeconds: 75.127,
    usage,
  });
  const events = [
    eventLine({ at: '2026-01-02T03:04:05.999Z', type: 'run_started', runId: RUN_ID }),
    eventLine({ at: '2026-01-02T03:06:00.000Z', type: 'run_completed', runId: RUN_ID, data: { score: 0.75 } }),
  ];
  const texts: Record<string, string> = {
    'run.json': jsonFile(run),
    'eval_result.json': jsonFile(buildEvalResult(END.grade, 1.5)),
    'events.jsonl': `${events.join('\n')}\n`,
    'trajectory.json': jsonFile(trajectory),
    'gui_events.jsonl': GUI_EVENTS.text,
    'origin_log/scripted/transcript.jsonl': '{"say":"Grüße"}\n',
    'output/Ergebnis mit Leerzeichen.txt': 'CONF-1\n',
    'output/empty': '',
  };
  const files = new Map(Object.entries(texts).map(([path, text]): [string, Uint8Array] => [path, Buffer.from(text)]));
  for (const shot of screenshots) if ('bytes' in shot) files.set(shot.path, shot.bytes);
  return files;
}
