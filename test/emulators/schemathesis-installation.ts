import path from 'node:path';
import { pythonVenv } from './python-venv.ts';

/** The environment of tier `schemathesis`. */
export const schemathesisVenv = pythonVenv(
  'schemathesis',
  path.join(import.meta.dirname, 'schemathesis-requirements.txt'),
);
