import { DescribeExecutionCommand, SFNClient, StartExecutionCommand, StopExecutionCommand } from '@aws-sdk/client-sfn';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSfnExecutions } from '#adapters/sfn-executions';

const wire = mockClient(SFNClient);
const ALIAS = 'arn:aws-cn:states:cn-north-1:123456789012:stateMachine:exam-hall-grade:live';
const ARN = 'arn:aws-cn:states:cn-north-1:123456789012:execution:exam-hall-grade:grade-1';
const executions = createSfnExecutions({
  client: new SFNClient({ region: 'us-east-1' }),
  machines: { grade: ALIAS },
});
const exists = Object.assign(new Error('told'), { name: 'ExecutionAlreadyExists' });

beforeEach(() => {
  wire.reset();
});

describe('an execution', () => {
  it('is started by the alias of its machine', async () => {
    wire.on(StartExecutionCommand).resolves({ executionArn: ARN });
    expect(await executions.start('grade', 'grade-1', { a: 1 })).toEqual({ executionArn: ARN });
    const sent = wire.commandCalls(StartExecutionCommand).map(({ args }) => args[0].input);
    expect(sent).toEqual([{ stateMachineArn: ALIAS, name: 'grade-1', input: '{"a":1}' }]);
  });

  it('that has ended under the same name with the same input is the same execution', async () => {
    wire.on(StartExecutionCommand).rejects(exists);
    wire.on(DescribeExecutionCommand, { executionArn: ARN }).resolves({ input: '{ "b": [2], "a": 1 }' });
    expect(await executions.start('grade', 'grade-1', { a: 1, b: [2] })).toEqual({ executionArn: ARN });
  });

  it.each([['{"a":2}'], [undefined]])('with another input is refused: %s', async (input) => {
    wire.on(StartExecutionCommand).rejects(exists);
    wire.on(DescribeExecutionCommand).resolves(input === undefined ? {} : { input });
    await expect(executions.start('grade', 'grade-1', { a: 1 })).rejects.toMatchObject({
      name: 'ExecutionAlreadyExists',
    });
  });

  it('of a machine that the function did not name is refused', async () => {
    await expect(executions.start('sweep', 's-r1', {})).rejects.toMatchObject({
      name: 'EnvironmentInvalidError',
      message: expect.stringMatching(/machine sweep .*allowed: grade/u) as string,
    });
    expect(wire.calls()).toHaveLength(0);
  });

  it('with too large an input is refused before it is sent', async () => {
    await expect(executions.start('grade', 'g', 'x'.repeat(262_143))).rejects.toMatchObject({
      name: 'PayloadInvalidError',
    });
    expect(wire.calls()).toHaveLength(0);
  });

  it('that cannot be started in passing is an error that machines retry', async () => {
    wire.on(StartExecutionCommand).rejects(Object.assign(new Error(''), { name: 'ThrottlingException' }));
    await expect(executions.start('grade', 'g', {})).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    wire.on(StartExecutionCommand).rejects(Object.assign(new Error(''), { name: 'ExecutionLimitExceeded' }));
    await expect(executions.start('grade', 'g', {})).rejects.toMatchObject({ name: 'ExecutionLimitExceeded' });
  });

  it('is stopped with error and cause, cut to what the service takes', async () => {
    wire.on(StopExecutionCommand).resolves({});
    await executions.stop(ARN, 'E'.repeat(300), 'c'.repeat(40_000));
    const [call] = wire.commandCalls(StopExecutionCommand);
    expect(call?.args[0].input).toEqual({ executionArn: ARN, error: 'E'.repeat(256), cause: 'c'.repeat(32_768) });
  });
});
