import { execFile } from 'node:child_process';
import path from 'node:path';

/** Calls the handler as Lambda does and tells on standard error how it ended; standard output is the function's log. */
const CALL = `const [, file, event] = process.argv;
const { handler } = await import(file);
const end = await handler(JSON.parse(event), { awsRequestId: 'request-1' }).then(
  (answer) => ({ answer }),
  (error) => ({ errorName: error.name, message: error.message }),
);
process.stderr.write(JSON.stringify(end));
process.exit(0);`;

export interface Invocation {
  readonly answer?: unknown;
  readonly errorName?: string;
  readonly message?: string;
  readonly log: readonly Readonly<Record<string, unknown>>[];
}

/** Invokes a bundle in a process of its own that has these variables and no others. */
export async function invokeBundle(
  folder: string,
  event: unknown,
  env: Readonly<Record<string, string>>,
): Promise<Invocation> {
  const args = ['--input-type=module', '-e', CALL, path.join(folder, 'index.mjs'), JSON.stringify(event)];
  const options = { env: { ...env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' }, cwd: folder };
  return await new Promise((resolve, reject) => {
    execFile(process.execPath, args, { ...options, timeout: 120_000 }, (error, stdout, stderr) => {
      if (error !== null) {
        reject(new Error(`${folder} did not end well: ${stderr}${stdout}`, { cause: error }));
        return;
      }
      const lines = stdout.split('\n').filter((line) => line !== '');
      const log = lines.map((line) => JSON.parse(line) as Invocation['log'][0]);
      resolve({ ...(JSON.parse(stderr) as Omit<Invocation, 'log'>), log });
    });
  });
}
