import { MAX_BODY_BYTES, type ApiFunction } from '#contracts/api-routes';
import { ProblemSchema, PublishAnswerSchema } from '#contracts/api-schemas';
import { ExamHallError } from '#core/errors';
import { agentFolder, localCatalogue, taskFolder, type CatalogueFolders } from '#local/catalogue';
import { compileAgent } from '#local/publish/compile-agent';
import { compileTask } from '#local/publish/compile-task';
import { storeAgent } from '#local/publish/publish-agent';
import { storeTask } from '#local/publish/publish-task';
import type { Session } from './session.ts';

type Served = Pick<Session, 'modules' | 'bundlesDir'> & {
  readonly host: Pick<Session['host'], 'invoke' | 'ports'>;
};

export interface CataloguePublishing {
  readonly folders: CatalogueFolders;
  /** Who publishes. */
  readonly principalArn: string;
  readonly tell: (line: string) => void;
}

/** How much of the folders is in the catalogue now. */
export interface PublishedCatalogue {
  readonly tasks: number;
  readonly agents: number;
  /** What could not be published, with the reason. */
  readonly failures: readonly string[];
}

/**
 * Puts every task and agent of the folders into the session's catalogue, as a publisher would through the API, without the
 * way over the network. One that is not right is told and left out.
 */
export async function publishCatalogue(session: Served, publishing: CataloguePublishing): Promise<PublishedCatalogue> {
  const { folders, tell } = publishing;
  const { tasks, harnesses } = await localCatalogue(folders);
  const names = { task: [...tasks.keys()], agent: [...harnesses] };
  const failures: string[] = [];
  const published = { task: 0, agent: 0 };
  const all = names.task.length + names.agent.length;
  for (const kind of ['task', 'agent'] as const) {
    for (const id of names[kind]) {
      const at = published.task + published.agent + failures.length + 1;
      try {
        await (kind === 'task' ? publishOneTask : publishOneAgent)(session, publishing, id);
        published[kind] += 1;
        tell(`[${String(at)}/${String(all)}] published ${kind} ${id}`);
      } catch (error) {
        const reason = `${kind} ${id}: ${error instanceof Error ? error.message : String(error)}`;
        failures.push(reason);
        tell(`[${String(at)}/${String(all)}] not published: ${reason}`);
      }
    }
  }
  return { tasks: published.task, agents: published.agent, failures };
}

async function publishOneTask(session: Served, publishing: CataloguePublishing, id: string): Promise<void> {
  const folder = await taskFolder(publishing.folders, id);
  const compiled = await compileTask(folder, { runner: session.modules, cacheDir: session.bundlesDir });
  await storeTask(compiled, session.host.ports.artifacts);
  const { task, references, solutions, source } = compiled;
  await offer(session, publishing.principalArn, '/tasks', { task, references, solutions, source });
}

async function publishOneAgent(session: Served, publishing: CataloguePublishing, id: string): Promise<void> {
  const folder = await agentFolder(publishing.folders, id);
  const compiled = await compileAgent(folder, { cacheDir: session.bundlesDir });
  const agent = await storeAgent(compiled, session.host.ports.artifacts);
  await offer(session, publishing.principalArn, '/agents', { agent });
}

const ACCEPT: ApiFunction = 'accept-commands';

async function offer({ host }: Served, principalArn: string, resource: string, body: object): Promise<void> {
  const text = JSON.stringify(body);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_BODY_BYTES) {
    const message = `its list of files takes ${String(bytes)} bytes; ${String(MAX_BODY_BYTES)} are allowed: pack the files`;
    throw new ExamHallError('InvalidRequestError', message);
  }
  const answer = await host.invoke(ACCEPT, {
    httpMethod: 'POST',
    resource,
    pathParameters: null,
    headers: { 'content-type': 'application/json' },
    body: text,
    requestContext: { requestId: null, identity: { userArn: principalArn } },
  });
  const said: unknown = JSON.parse(bodyOf(answer));
  const isPublished = PublishAnswerSchema.safeParse(said).data?.isPublished;
  if (isPublished === true) return;
  const problem = ProblemSchema.safeParse(said).data;
  const what = problem === undefined ? 'files are missing after they were stored' : problem.detail;
  throw new ExamHallError('InvalidRequestError', what);
}

function bodyOf(answer: unknown): string {
  if (typeof answer === 'object' && answer !== null && 'body' in answer && typeof answer.body === 'string')
    return answer.body;
  throw new TypeError(`${ACCEPT} answered with something else than an answer`);
}
