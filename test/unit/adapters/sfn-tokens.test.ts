import {
  SendTaskFailureCommand,
  SendTaskHeartbeatCommand,
  SendTaskSuccessCommand,
  SFNClient,
} from '@aws-sdk/client-sfn';
import { mockClient } from 'aws-sdk-client-mock';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSfnTokens } from '#adapters/sfn-tokens';

const wire = mockClient(SFNClient);
const tokens = createSfnTokens({ client: new SFNClient({ region: 'us-east-1' }) });
const named = (name: string) => Object.assign(new Error('told'), { name });

beforeEach(() => {
  wire.reset();
  wire.onAnyCommand().resolves({});
});

/** What was said of failures, in order. */
const failures = () => wire.commandCalls(SendTaskFailureCommand).map(({ args }) => args[0].input);

describe('a token', () => {
  it('is answered with JSON', async () => {
    expect(await tokens.succeed('t', { a: [1, null] })).toBe(true);
    expect(await tokens.succeed('t', undefined)).toBe(true);
    const sent = wire.commandCalls(SendTaskSuccessCommand).map(({ args }) => args[0].input);
    expect(sent).toEqual([
      { taskToken: 't', output: '{"a":[1,null]}' },
      { taskToken: 't', output: 'null' },
    ]);
  });

  it('is failed with error and cause, and kept alive', async () => {
    expect(await tokens.fail('t', 'SandboxLostError', 'gone')).toBe(true);
    expect(await tokens.heartbeat('t')).toBe(true);
    expect(failures()).toEqual([{ taskToken: 't', error: 'SandboxLostError', cause: 'gone' }]);
    expect(wire.commandCalls(SendTaskHeartbeatCommand)[0]?.args[0].input).toEqual({ taskToken: 't' });
  });

  it.each(['TaskTimedOut', 'TaskDoesNotExist', 'InvalidToken'])('that is gone (%s) answers false', async (name) => {
    wire.onAnyCommand().rejects(named(name));
    expect(await tokens.succeed('t', {})).toBe(false);
    expect(await tokens.fail('t', 'e', 'c')).toBe(false);
    expect(await tokens.heartbeat('t')).toBe(false);
  });

  it('that cannot be asked about is an error, passing or for good', async () => {
    wire.on(SendTaskSuccessCommand).rejects(named('ThrottlingException'));
    await expect(tokens.succeed('t', {})).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    wire.on(SendTaskHeartbeatCommand).rejects(named('KmsAccessDeniedException'));
    await expect(tokens.heartbeat('t')).rejects.toMatchObject({ name: 'KmsAccessDeniedException' });
  });
});

describe('what a token is answered with', () => {
  it('is bound by the service, and refused above before it is sent', async () => {
    const largest = 'x'.repeat(262_144 - 2);
    expect(await tokens.succeed('t', largest)).toBe(true);
    await expect(tokens.succeed('t', `${largest}x`)).rejects.toMatchObject({
      name: 'PayloadInvalidError',
      message: expect.stringMatching(/262145 bytes; allowed: 262144/u) as string,
    });
    expect(wire.commandCalls(SendTaskSuccessCommand)).toHaveLength(1);
  });

  it('is cut where an error is too long, never through a character', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 250, maxLength: 300 }), async (text) => {
        wire.resetHistory();
        await tokens.fail('t', text, text.repeat(150));
        const [{ error = '', cause = '' } = {}] = failures();
        expect(error.length).toBeLessThanOrEqual(256);
        expect(cause.length).toBeLessThanOrEqual(32_768);
        expect([text.startsWith(error), text.repeat(150).startsWith(cause)]).toEqual([true, true]);
        expect(Buffer.from(error).toString()).toBe(error);
        expect(Buffer.from(cause).toString()).toBe(cause);
        expect(error.length).toBeGreaterThanOrEqual(Math.min(text.length, 255));
      }),
      { numRuns: 50 },
    );
  });
});
