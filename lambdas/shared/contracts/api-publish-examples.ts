/** One call of a route and what it is answered. */
export interface ApiExample {
  /** By name, path parameters among them. */
  readonly parameters: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  readonly answer: unknown;
}

const revision = `sha256:${'3f'.repeat(32)}`;
const sha256 = '9c'.repeat(32);
const module = {
  path: 'task.mjs',
  key: `tasks/demo/hello/${'3f'.repeat(32)}/task.mjs`,
  sha256,
  sizeBytes: 2048,
  executable: false,
};
const agentFile = (path: string) => ({
  path,
  key: `agents/codex/${'3f'.repeat(32)}/${path}`,
  sha256,
  sizeBytes: 4096,
  executable: true,
});
const variantFiles = [{ name: 'base', reference: [], solution: [] }];

/** Calls that publish, by `operationId`. */
export const PUBLISH_EXAMPLES: Readonly<Record<string, ApiExample>> = {
  publishTask: {
    parameters: {},
    body: {
      task: {
        version: 1,
        taskId: 'demo/hello',
        revision,
        card: { vm: { snapshot: 'cpu-free-ubuntu' } },
        module,
        hasStart: false,
        variants: [
          {
            name: 'base',
            index: 0,
            prompt: 'Write hello into output/hello.txt.',
            metadata: {},
            input: [],
            software: [],
            hasReference: true,
            hasSolution: false,
          },
        ],
      },
      references: {
        version: 1,
        taskId: 'demo/hello',
        revision,
        variants: variantFiles.map(({ name, reference }) => ({ name, reference })),
      },
      solutions: {
        version: 1,
        taskId: 'demo/hello',
        revision,
        variants: variantFiles.map(({ name, solution }) => ({ name, solution })),
      },
      source: [{ path: 'task.ts', kind: 'file', value: sha256 }],
    },
    answer: {
      id: 'demo/hello',
      revision,
      isPublished: false,
      uploads: [
        {
          bucket: 'tasks',
          grant: {
            url: 'https://tasks.example/',
            fields: { policy: 'eyJ' },
            keyPrefix: `tasks/demo/hello/${'3f'.repeat(32)}/`,
          },
          keys: [module.key],
        },
      ],
    },
  },
  publishAgent: {
    parameters: {},
    body: {
      agent: {
        version: 1,
        agentId: 'codex',
        revision,
        manifest: {
          id: 'codex',
          version: '1.0.0',
          harness: 'codex',
          description: 'Codex in a terminal.',
          executor: 'sandbox',
          runtime: { node: '20' },
          launch: 'launch.ts',
          parser: 'parser.ts',
        },
        launch: agentFile('launch.mjs'),
        parser: agentFile('parser.mjs'),
        recordings: {},
      },
    },
    answer: { id: 'codex', revision, isPublished: true, uploads: [] },
  },
};
