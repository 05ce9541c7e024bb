import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { type CommandResult, type Session } from '#sdk';

function runShell(command: string, timeoutSeconds: number): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutSeconds * 1000);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ success: code === 0, stdout, stderr, returnCode: code ?? 137 });
    });
  });
}

/** A task's `Session` on this computer, without a screen, for tests of tasks. */
export function localSession(): Session {
  return {
    runCommand: async (command, options = {}) => {
      const result = await runShell(command, options.timeoutSeconds ?? 60);
      if (options.check === true && !result.success) {
        throw Object.assign(new Error(`${command} ended with ${result.returnCode}: ${result.stderr}`), {
          name: 'SessionCommandError',
        });
      }
      return result;
    },
    readFile: (path) => readFile(path, 'utf8'),
    readBytes: (path) => readFile(path),
    writeFile: (path, content) => writeFile(path, content),
    writeBytes: (path, content) => writeFile(path, content),
    fileExists: async (path) => (await stat(path).catch(() => null))?.isFile() ?? false,
    directoryExists: async (path) => (await stat(path).catch(() => null))?.isDirectory() ?? false,
    listDir: async (path) => (await readdir(path)).sort(),
    createDir: async (path) => {
      await mkdir(path, { recursive: true });
    },
    launch: () =>
      Promise.reject(Object.assign(new Error('this session has no screen'), { name: 'SessionUnavailableError' })),
    screenshot: () =>
      Promise.reject(Object.assign(new Error('this session has no screen'), { name: 'SessionUnavailableError' })),
  };
}
