import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { loadExperiment } from '#cli/config/load-experiment';
import { AGENTS_FOLDER, TASKS_FOLDER } from '#local/catalogue';
import { executeRun, prepareRun } from '#local/run-experiment';
import { openSession } from '#local/session';
import { templateCode } from '#local/template-code';
import { composeModuleRunner } from '#runtime/module-runner';

/**
 * `<experiment.yaml> [<assembly>]`: runs an experiment through the embedded host and prints how it ended as one line of
 * JSON. With a synthesised assembly, handlers, machines and the entry of child processes are those that it deploys.
 */
const [, , experimentFile = '', assembly] = process.argv;

function deployed(folder: string): Pick<Parameters<typeof openSession>[0], 'code' | 'modules'> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.template.json'));
  const code = templateCode(
    folder,
    files.map((file): unknown => JSON.parse(readFileSync(path.join(folder, file), 'utf8'))),
  );
  const childEntry = path.join(path.dirname(code.handlerFile('run-grader')), 'child-entry.mjs');
  return { code, modules: composeModuleRunner(childEntry) };
}

const { experiment } = await loadExperiment(experimentFile, { env: {}, cwd: path.dirname(experimentFile) });
const treeRoot = path.join(experiment.outputRoot, experiment.name);
const session = await openSession({ treeRoot, ...(assembly === undefined ? {} : deployed(assembly)) });
try {
  const prepared = await prepareRun(session, experiment, {
    folders: { tasks: [TASKS_FOLDER], agents: [AGENTS_FOLDER] },
    filter: { agents: [], tasks: [] },
    resume: true,
    owner: 'tester',
    costCenter: 'local',
  });
  const { units, executionStatus, error } = await executeRun(session, prepared);
  process.stdout.write(`${JSON.stringify({ node: process.versions.node, executionStatus, error, units })}\n`);
} finally {
  await session.close();
}
