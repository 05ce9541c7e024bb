import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { agentSlug, modelSlug, runId, taskSlug } from '#core/slugs';

describe('the slug of an agent', () => {
  it.each([
    ['claude-code', 'claude_code'],
    ['Claude Code', 'claude_code'],
    ['a- b', 'a__b'],
    ['a--b', 'a__b'],
    ['_x_', 'x'],
    ['my_pkg.Own', 'my_pkg_own'],
    ['試験', 'unknown'],
    ['', 'unknown'],
  ])('%j is %j', (id, slug) => {
    expect(agentSlug(id)).toBe(slug);
  });
});

describe('the slug of a model', () => {
  it.each([
    ['anthropic/claude-sonnet-4.6', 'anthropic-claude-sonnet-4-6'],
    ['GPT_5.4', 'gpt-5-4'],
    ['a//b', 'a--b'],
    ['a b:c', 'a-b-c'],
    ['-x-', 'x'],
    ['', 'unknown-model'],
    ['///', 'unknown-model'],
  ])('%j is %j', (model, slug) => {
    expect(modelSlug(model)).toBe(slug);
  });

  it('is the unknown model when there is none', () => {
    expect(modelSlug(null)).toBe('unknown-model');
  });
});

describe('the slug of a task', () => {
  it.each([
    ['demo/hello', 'demo__hello'],
    ['/demo/hello/', 'demo__hello'],
    ['Engineering/mold-flow', 'Engineering__mold-flow'],
    ['a/b/c', 'a__b__c'],
  ])('%j is %j', (path, slug) => {
    expect(taskSlug(path)).toBe(slug);
  });
});

describe('slugs', () => {
  it('are folder names of known letters and do not change when made twice', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(agentSlug(text)).toMatch(/^[a-z0-9]([a-z0-9_]*[a-z0-9])?$/);
        expect(modelSlug(text)).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
        expect(agentSlug(agentSlug(text))).toBe(agentSlug(text));
        expect(modelSlug(modelSlug(text))).toBe(modelSlug(text));
        expect(taskSlug(text)).not.toContain('/');
      }),
    );
  });

  it('make up the run id', () => {
    const identity = {
      agentId: 'Claude-Code',
      model: 'a/b.1',
      taskPath: 'demo/hello',
      variant: 3,
      timestamp: '20260102_030405',
    };
    expect(runId(identity)).toBe('claude_code__a-b-1__demo__hello__v3__20260102_030405');
  });
});
