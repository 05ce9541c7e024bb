import type { ModuleCall, ModuleReport, ModuleRunner, ServiceStart, SessionCalls } from '#ports/module-runner';

export type ModuleBehaviour = (
  call: ModuleCall,
  session: SessionCalls | undefined,
  startService: ServiceStart | undefined,
) => Partial<ModuleReport> | Promise<Partial<ModuleReport>>;

/** Runs nothing: each phase answers as it is told, else as a task and a parser without faults would. */
export class FakeModules implements ModuleRunner {
  readonly calls: ModuleCall[] = [];
  readonly behave: Record<string, ModuleBehaviour> = {
    load: () => ({ value: ['base', 'other'].map((name) => ({ name, prompt: `Do ${name}.` })) }),
    start: () => ({ valueKind: 'undefined', value: null }),
    evaluate: () => ({ value: { score: 0.5, gates: 1 } }),
    parse: () => ({ value: { steps: [{ source: 'agent', message: 'Done.' }] } }),
  };

  async run(call: ModuleCall, session?: SessionCalls, startService?: ServiceStart): Promise<ModuleReport> {
    this.calls.push(call);
    const behaviour = this.behave[call.phase];
    if (behaviour === undefined) throw new Error(`no behaviour for phase ${call.phase}`);
    return { ...returned, ...(await behaviour(call, session, startService)) };
  }
}

const returned: ModuleReport = {
  end: 'returned',
  value: null,
  valueKind: 'json',
  errorName: null,
  errorMessage: null,
  exitCode: 0,
  signal: null,
  hostFault: null,
  stdout: '',
  stderr: '',
  stdoutBytes: 0,
  stderrBytes: 0,
  durationSeconds: 0.25,
};
