import path from 'node:path';
import { pythonVenv } from './python-venv.ts';

/** The environment of tier `moto`. */
export const motoVenv = pythonVenv('moto', path.join(import.meta.dirname, 'moto-requirements.txt'));

/** Path of cfn-lint, which moto brings. There only where tier `moto` is. */
export function cfnLintProgram(): string {
  return motoVenv.program('cfn-lint');
}
