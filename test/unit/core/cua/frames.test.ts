import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseReply } from '#core/cua/frames';

const frame = (fields: unknown): string => `data: ${JSON.stringify(fields)}\n\n`;

describe('the answer to a command', () => {
  it('is the fields of its frame when nothing says it failed', () => {
    expect(parseReply(200, frame({ success: true, size: 7 }))).toEqual({
      kind: 'result',
      fields: { success: true, size: 7 },
    });
    expect(parseReply(200, frame({}))).toEqual({ kind: 'result', fields: {} });
  });

  it.each([
    [{ success: false, error: 'no such window' }, 'no such window'],
    [{ success: false }, 'the server gave no reason'],
    [{ success: false, error: '' }, 'the server gave no reason'],
    [{ success: false, message: 'not found' }, 'not found'],
    [
      { success: false, stdout: '', stderr: 'Command timed out after 1s', return_code: -1 },
      'Command timed out after 1s',
    ],
    [{ success: null }, 'the server gave no reason'],
    [{ success: 'false', error: 7 }, 'the server gave no reason'],
  ])('is a failure when success is not true, whatever else it says: %j', (fields, message) => {
    expect(parseReply(200, frame(fields))).toEqual({ kind: 'failure', message, fields });
  });

  it('is a success although the command it ran exited with 3', () => {
    expect(parseReply(200, frame({ success: true, return_code: 3 })).kind).toBe('result');
  });

  it.each([
    [400, '{"detail":"Unknown command: x. Did you mean: y?"}', 'Unknown command: x. Did you mean: y?'],
    [401, '{"detail":"API key required"}', 'API key required'],
    [409, '{"success":false,"code":"unsupported_in_vnc","error":"not on VNC"}', 'not on VNC'],
    [422, '{"detail":[{"loc":["body"],"msg":"bad"}]}', '[{"loc":["body"],"msg":"bad"}]'],
    [500, 'Internal Server Error', 'Internal Server Error'],
    [502, '', ''],
  ])('with status %i is a refusal with its detail', (statusCode, body, detail) => {
    expect(parseReply(statusCode, body)).toEqual({ kind: 'http', statusCode, detail });
  });

  it.each([
    ['a byte order mark', '\ufeffdata: {"a":1}\n\n'],
    ['no space', 'data:{"a":1}\n\n'],
    ['carriage returns', 'data: {"a":1}\r\n\r\n'],
    ['no end', 'data: {"a":1}'],
    ['an earlier frame', 'data: {"a":0}\n\ndata: {"a":1}\n\n'],
    ['other lines', ': keep-alive\nevent: message\ndata: {"a":1}\n\n'],
    ['two lines of data', 'data: {"a":\ndata: 1}\n\n'],
  ])('is read with %s', (_, body) => {
    expect(parseReply(200, body)).toEqual({ kind: 'result', fields: { a: 1 } });
  });

  it.each([
    ['nothing', '', 'empty'],
    ['blanks', ' \n\n', 'empty'],
    ['JSON without a frame', '{"success":true}', 'no "data:" line'],
    ['half a frame', 'data: {"success":true,"image_data":"iVBOR', 'perhaps cut off'],
    ['a list', 'data: [1]\n\n', 'not a JSON object'],
    ['null', 'data: null\n\n', 'not a JSON object'],
    ['a page of a proxy', '<html>Bad Gateway</html>', 'no "data:" line'],
  ])('is broken when it is %s', (_, body, reason) => {
    const reply = parseReply(200, body);
    expect(reply).toMatchObject({ kind: 'broken' });
    expect(reply.kind === 'broken' && reply.reason).toContain(reason);
  });

  it('never throws and never shows more than a little of what came', () => {
    fc.assert(
      fc.property(fc.oneof(fc.constant(200), fc.integer({ min: 100, max: 599 })), fc.string(), (status, body) => {
        const reply = parseReply(status, body);
        expect(['result', 'failure', 'http', 'broken']).toContain(reply.kind);
      }),
    );
    expect(JSON.stringify(parseReply(500, 'x'.repeat(100_000))).length).toBeLessThan(1_000);
    expect(JSON.stringify(parseReply(200, `data: ${'x'.repeat(100_000)}`)).length).toBeLessThan(1_000);
  });

  it('gives back every object that is framed', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
        const reply = parseReply(200, frame({ ...fields, success: true }));
        const sent: unknown = JSON.parse(JSON.stringify({ ...fields, success: true }));
        expect(reply).toEqual({ kind: 'result', fields: sent });
      }),
    );
  });
});
