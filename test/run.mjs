import path from 'node:path';
import { exitWith, repositoryRoot, runTypeScript } from '../infra/cli/ensure.mjs';

runTypeScript(path.join(repositoryRoot, 'test', 'runner', 'main.ts'), process.argv.slice(2)).catch(exitWith);
