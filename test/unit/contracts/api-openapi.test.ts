import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { API_EXAMPLES } from '#contracts/api-examples';
import { PROBLEM_EXAMPLES } from '#contracts/api-problem-examples';
import { openApiDocument } from '#contracts/api-openapi';
import { API_ROUTES } from '#contracts/api-routes';

const VERSION = (JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }).version;

describe('the examples of the API', () => {
  it('are one for each route, and fit its schemas', () => {
    expect(Object.keys(API_EXAMPLES).sort()).toEqual(API_ROUTES.map(({ operationId }) => operationId).sort());
    for (const { operationId, query, body, answer, path } of API_ROUTES) {
      const example = API_EXAMPLES[operationId];
      const inPath = [...path.matchAll(/\{(\w+)\}/gu)].map((match) => match[1] ?? '');
      const asked = Object.entries(example?.parameters ?? {}).filter(
        ([name]) => !inPath.includes(name) && name !== 'Idempotency-Key',
      );
      for (const name of inPath) expect(example?.parameters, operationId).toHaveProperty(name);
      expect(query.safeParse(Object.fromEntries(asked)).error, operationId).toBeUndefined();
      if (body !== null) expect(body.safeParse(example?.body).error, operationId).toBeUndefined();
      expect(answer.safeParse(example?.answer).error, operationId).toBeUndefined();
    }
  });
});

describe('infra/openapi.json', () => {
  it('is made from the routes (npm run docs)', () => {
    expect(JSON.parse(readFileSync('infra/openapi.json', 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(openApiDocument(VERSION))),
    );
  });

  it('has each route once, with its problems, and no status without one', () => {
    const document = JSON.parse(readFileSync('infra/openapi.json', 'utf8')) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;
    };
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => ({
        route: `${method.toUpperCase()} ${path}`,
        responses,
      })),
    );
    expect(operations.map(({ route }) => route).sort()).toEqual(
      API_ROUTES.map(({ method, path }) => `${method} ${path}`).sort(),
    );
    for (const { responses } of operations) {
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '401', '403', '413', '429', '500', '503']));
    }
    expect(Object.keys(PROBLEM_EXAMPLES).length).toBeGreaterThanOrEqual(9);
  });
});
