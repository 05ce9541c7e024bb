import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pythonVenv } from './python-venv.ts';

/** A grammar of PowerShell: there is no PowerShell where tests run. */
export const powershellVenv = pythonVenv(
  'powershell-grammar',
  path.join(import.meta.dirname, 'powershell-requirements.txt'),
);

const SCRIPT = `
import sys, tree_sitter, tree_sitter_powershell
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
def walk(node, name):
    if node.type == 'ERROR' or node.is_missing:
        text = node.text.decode('utf-8', 'replace').splitlines()
        print('%s:%d: %s' % (name, node.start_point[0] + 1, text[0] if text else 'something is missing'))
    elif node.has_error:
        for child in node.children:
            walk(child, name)
for name in sys.argv[1:]:
    with open(name, 'rb') as file:
        walk(parser.parse(file.read()).root_node, name)
`;

/** One line for each place of these files that is no PowerShell. @throws Error when the grammar does not run. */
export function powerShellErrors(files: readonly string[]): string[] {
  const result = spawnSync(powershellVenv.program('python'), ['-I', '-c', SCRIPT, ...files], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (result.status !== 0) throw new Error(`the grammar ended with ${String(result.status)}: ${result.stderr}`);
  return result.stdout.split('\n').filter((line) => line !== '');
}
