import type { StatesBlock } from './definition.ts';
import { CancelledError, toAslError } from './errors.ts';
import type { Engine, Execution } from './execution.ts';
import { type Payload } from './payload.ts';
import { VariableScope } from './variables.ts';
import type { Run } from './visit.ts';

/** Walks a block of states; handed down so that maps can walk theirs. */
export type RunBlock = (block: StatesBlock, input: Payload, run: Run) => Promise<Payload>;

/** Runs an execution to its end, whatever that is. Never rejects. */
export async function runToEnd(
  execution: Execution,
  block: StatesBlock,
  engine: Engine,
  runBlock: RunBlock,
): Promise<void> {
  const { cancel, input } = execution;
  const run: Run = { engine, execution, scope: new VariableScope(execution.variables), cancel };
  try {
    execution.record('ExecutionStarted');
    const output = await runBlock(block, input, run);
    execution.finish({ status: 'SUCCEEDED', output: output.text });
  } catch (thrown) {
    if (thrown instanceof CancelledError) {
      execution.finish({ status: 'ABORTED' });
      return;
    }
    const { name, causeText } = toAslError(thrown);
    execution.finish({
      status: 'FAILED',
      ...(name === '' ? {} : { error: name }),
      ...(causeText === undefined ? {} : { cause: causeText }),
    });
  }
}
