import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DeploymentPolicy, Role } from '#core/policy';
import { ROLES } from '#core/policy';
import { AGENTS_FOLDER } from '#local/catalogue';
import { openServing, type ServeOptions, type Serving } from '#local/serve';

const ACCOUNT = 'arn:aws:iam::000000000000:user/';

export type Caller = Role | 'nobody';

/** Each role has one principal; `nobody` holds a token and has no role. */
const POLICY: DeploymentPolicy = {
  roles: {
    viewer: [`${ACCOUNT}viewer`],
    finance: [`${ACCOUNT}finance`],
    operator: [`${ACCOUNT}operator`],
    publisher: [`${ACCOUNT}publisher`],
    admin: [`${ACCOUNT}admin`],
  },
  costCenters: ['local'],
  caps: { sweepConcurrency: 8, unitsPerSweep: 40, sweepBudgetUsd: null, vCpusByProvider: {} },
};

export interface ServedReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when it is no JSON. */
  readonly json: unknown;
}

/** A served API over a folder of its own, with a token for each role. */
export interface ServedApi {
  readonly serving: Serving;
  readonly folder: string;
  readonly port: number;
  tokenOf(caller: Caller): string;
  call(caller: Caller, method: string, target: string, body?: unknown): Promise<ServedReply>;
  /** Writes files below a folder that lasts as long as the API. */
  write(files: Readonly<Record<string, string>>): Promise<string>;
  close(): Promise<void>;
}

/** Serves this repository's agents, and tasks of other folders. */
export async function openServedApi(
  tasksFolders: readonly string[] = [],
  more: Pick<ServeOptions, 'timeouts'> = {},
): Promise<ServedApi> {
  const folder = await mkdtemp(path.join(tmpdir(), 'examhall-served-'));
  const callers: readonly Caller[] = [...ROLES, 'nobody'];
  const tokens = new Map(callers.map((caller) => [caller, randomBytes(16).toString('hex')]));
  const serving = await openServing({
    folder: path.join(folder, 'runs'),
    folders: { tasks: tasksFolders, agents: [AGENTS_FOLDER] },
    tokens: [...tokens].map(([caller, token]) => ({ token, principalArn: `${ACCOUNT}${caller}` })),
    principalArn: `${ACCOUNT}admin`,
    policy: POLICY,
    tell: () => undefined,
    ...more,
  });
  const tokenOf = (caller: Caller): string => tokens.get(caller) ?? '';
  return {
    serving,
    folder,
    port: Number(new URL(serving.baseUrl).port),
    tokenOf,
    call: async (caller, method, target, body) => {
      const response = await fetch(`${serving.baseUrl}${target}`, {
        method,
        headers: {
          authorization: `Bearer ${tokenOf(caller)}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: jsonOf(text) };
    },
    write: async (files) => {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
        await writeFile(path.join(folder, name), text);
      }
      return folder;
    },
    close: async () => {
      await serving.session.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
