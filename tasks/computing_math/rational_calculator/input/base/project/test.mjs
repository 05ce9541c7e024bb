/** Visible tests: `node test.mjs [folder with calc.mjs]`. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = process.argv[2] ?? path.dirname(fileURLToPath(import.meta.url));

const CASES = [
  { name: 'adds and multiplies', input: '1 + 2 * 3\n(1 + 2) * 3\n', expected: '7\n9\n' },
  { name: 'keeps fractions exact', input: '1/3 + 1/6\n10/4\n', expected: '1/2\n5/2\n' },
  { name: 'stores names', input: 'x = 7\nx * x\nans + 1\n', expected: '7\n49\n50\n' },
  { name: 'goes on after an error', input: '1/0\ny\n2\n', expected: 'error: division by zero\nerror: unknown name y\n2\n' },
  { name: 'skips comments', input: '# nothing\n\n4 # four\n', expected: '4\n' },
  { name: 'prints the sign in front', input: '3 / (1 - 5)\n', expected: '-3/4\n' },
  { name: 'raises from the right', input: '2^3^2\n', expected: '512\n' },
  { name: 'reads decimals', input: '0.5 + 0.25\n', expected: '3/4\n' },
];

let failed = 0;
for (const test of CASES) {
  const run = spawnSync(process.execPath, ['calc.mjs'], { cwd: folder, input: test.input, encoding: 'utf8', timeout: 5000 });
  if (run.stdout === test.expected) continue;
  failed += 1;
  console.log(`FAILED ${test.name}: expected ${JSON.stringify(test.expected)}, got ${JSON.stringify(run.stdout)}`);
}
console.log(`${CASES.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
