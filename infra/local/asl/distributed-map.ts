import { CancelScope, waitUnlessCancelled } from './cancel.ts';
import type { MapState } from './definition.ts';
import { CancelledError, EXCEEDED_TOLERANCE, AslError, toAslError } from './errors.ts';
import { Execution } from './execution.ts';
import { type RunBlock, runToEnd } from './lifecycle.ts';
import { assertPayloadFits, MAX_DISTRIBUTED_CONCURRENCY } from './limits.ts';
import { elementsOf, type ItemSource, openItemReader, readItems } from './map-items.ts';
import { openResults, type ResultSink } from './map-results.ts';
import { Payload } from './payload.ts';
import { type Template, wrongValueError } from './template.ts';
import { executionArn, type Visit } from './visit.ts';

interface Settings {
  readonly concurrency: number;
  readonly toleratedPercentage: number | undefined;
  readonly toleratedCount: number | undefined;
}

/** Runs one attempt of a distributed map: a child execution per item, each with a history of its own. */
export async function runDistributedMap(state: MapState, visit: Visit, runBlock: RunBlock): Promise<Payload> {
  const settings = await readSettings(state, visit);
  const elements = state.itemReader === undefined ? await readItems(state, visit) : undefined;
  const { execution, engine } = visit.run;
  const mapRunArn = `arn:aws:states:local:000000000000:mapRun:${execution.stateMachineName}/${state.label}:${engine.host.newId()}`;
  execution.record('MapStateStarted', state.name);
  execution.record('MapRunStarted', state.name);
  try {
    const source =
      state.itemReader === undefined ? elementsOf(elements ?? []) : await openItemReader(state.itemReader, visit);
    const results = await openResults(state.resultWriter, mapRunArn, visit);
    await new MapRun({ state, visit, runBlock, settings, source, results }).run();
    const result = await results.close();
    execution.record('MapRunSucceeded', state.name);
    execution.record('MapStateSucceeded', state.name);
    return result;
  } catch (error) {
    if (!(error instanceof CancelledError)) execution.record('MapRunFailed', state.name);
    throw error;
  }
}

async function readSettings(state: MapState, visit: Visit): Promise<Settings> {
  const { maxConcurrency, toleratedFailurePercentage, toleratedFailureCount } = state;
  const limit = maxConcurrency === undefined ? 0 : await visit.fillInteger(maxConcurrency, 'MaxConcurrency', 0);
  return {
    concurrency: limit === 0 ? MAX_DISTRIBUTED_CONCURRENCY : Math.min(limit, MAX_DISTRIBUTED_CONCURRENCY),
    toleratedPercentage:
      toleratedFailurePercentage === undefined ? undefined : await readPercentage(toleratedFailurePercentage, visit),
    toleratedCount:
      toleratedFailureCount === undefined
        ? undefined
        : await visit.fillInteger(toleratedFailureCount, 'ToleratedFailureCount', 0),
  };
}

async function readPercentage(template: Template, visit: Visit): Promise<number> {
  const value = await visit.fill(template);
  if (typeof value === 'number' && value >= 0 && value <= 100) return value;
  throw visit.evaluationFailed(wrongValueError(template, 'ToleratedFailurePercentage', 'number from 0 to 100', value));
}

interface MapRunInput {
  readonly state: MapState;
  readonly visit: Visit;
  readonly runBlock: RunBlock;
  readonly settings: Settings;
  readonly source: ItemSource;
  readonly results: ResultSink;
}

/** Keeps as many children running as allowed, and holds none that has ended. */
class MapRun {
  readonly #input: MapRunInput;
  readonly #group: CancelScope;
  #active = 0;
  #started = 0;
  #failed = 0;
  #isPumping = false;
  #isExhausted = false;
  #failure: AslError | undefined;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(input: MapRunInput) {
    this.#input = input;
    this.#group = new CancelScope(input.visit.run.cancel);
  }

  /** @throws AslError the failure of the map run, once its children have stopped. */
  async run(): Promise<void> {
    try {
      await waitUnlessCancelled<undefined>(this.#input.visit.run.cancel, (resolve, reject) => {
        this.#resolve = () => resolve(undefined);
        this.#reject = reject;
        void this.#pump();
        return () => undefined;
      });
    } finally {
      this.#group.close();
    }
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (this.#failure === undefined && this.#active < this.#input.settings.concurrency) {
        const item = this.#input.source.next();
        if (item === undefined) {
          this.#isExhausted = true;
          break;
        }
        await this.#startChild(item);
      }
    } catch (error) {
      this.#fail(toAslError(error));
    }
    this.#isPumping = false;
    this.#settleIfDone();
  }

  async #startChild(item: Payload): Promise<void> {
    const { state, visit, runBlock } = this.#input;
    const { engine, execution: parent } = visit.run;
    const index = this.#started++;
    let input = item;
    if (state.itemSelector !== undefined) {
      input = Payload.of(await visit.fill(state.itemSelector, visit.frameOfItem({ index, value: item })));
    }
    assertPayloadFits(input.text, state.name);
    if (this.#failure !== undefined || this.#group.isCancelled) return;
    const name = engine.host.newId();
    const stateMachineName = `${parent.stateMachineName}/${state.label}`;
    const arn = executionArn(stateMachineName, name);
    const child = new Execution(engine.host, { arn, name, stateMachineName, input }, this.#group);
    this.#active += 1;
    engine.begin(child);
    void runToEnd(child, state.processor, engine, runBlock).then(() => this.#ended(index, child));
  }

  #ended(index: number, child: Execution): void {
    this.#active -= 1;
    this.#input.results.add(index, child);
    if (child.status !== 'SUCCEEDED') this.#failed += 1;
    if (this.#failure === undefined && this.#isOverThreshold()) {
      this.#fail(
        new AslError(
          EXCEEDED_TOLERANCE,
          `The specified tolerated failure threshold was exceeded: ${this.#failed} of ${this.#input.source.total} items failed.`,
        ),
      );
    }
    void this.#pump();
  }

  #isOverThreshold(): boolean {
    const { toleratedPercentage, toleratedCount } = this.#input.settings;
    if (toleratedPercentage === undefined && toleratedCount === undefined) return this.#failed > 0;
    const isOverPercentage =
      toleratedPercentage !== undefined && this.#failed * 100 > toleratedPercentage * this.#input.source.total;
    return isOverPercentage || (toleratedCount !== undefined && this.#failed > toleratedCount);
  }

  #fail(error: AslError): void {
    this.#failure ??= error;
    this.#group.cancel();
  }

  #settleIfDone(): void {
    if (this.#active > 0 || this.#isPumping) return;
    if (this.#failure !== undefined) this.#reject(this.#failure);
    else if (this.#isExhausted) this.#resolve();
  }
}
