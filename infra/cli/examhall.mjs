#!/usr/bin/env node
import path from 'node:path';
import { exitWith, repositoryRoot, runTypeScript } from './ensure.mjs';

runTypeScript(path.join(repositoryRoot, 'infra', 'cli', 'main.ts'), process.argv.slice(2)).catch(exitWith);
