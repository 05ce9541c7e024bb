/** Repairs the staged calculator by editing its source; every edit must match exactly once. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const EDITS: readonly Edit[] = [
  {
    file: 'rational.mjs',
    find: 'const divisor = gcd(n, d);',
    replace: 'const divisor = d < 0n ? -gcd(n, d) : gcd(n, d);',
  },
  {
    file: 'rational.mjs',
    find: `  const scale = 1000000;
  if (!text.includes('.')) return rational(BigInt(text));
  return rational(BigInt(Math.round(Number(text) * scale)), BigInt(scale));`,
    replace: `  const [whole, decimals = ''] = text.split('.');
  return rational(BigInt(whole + decimals), 10n ** BigInt(decimals.length));`,
  },
  {
    file: 'rational.mjs',
    find: '  return rational(a.n / a.d);',
    replace: `  const truncated = a.n / a.d;
  return rational(a.n < 0n && truncated * a.d !== a.n ? truncated - 1n : truncated);`,
  },
  {
    file: 'parser.mjs',
    find: 'let left = power();',
    replace: 'let left = unary();',
  },
  {
    file: 'parser.mjs',
    find: 'left, right: power() };',
    replace: 'left, right: unary() };',
  },
  {
    file: 'parser.mjs',
    find: `    let left = unary();
    while (peek() === '^') {
      at += 1;
      left = { kind: 'binary', operator: '^', left, right: unary() };
    }
    return left;`,
    replace: `    const base = primary();
    if (peek() !== '^') return base;
    at += 1;
    return { kind: 'binary', operator: '^', left: base, right: unary() };`,
  },
  { file: 'parser.mjs', find: "if (peek() !== '-') return primary();", replace: "if (peek() !== '-') return power();" },
  {
    file: 'parser.mjs',
    find: '  return expression();\n',
    replace: `  const tree = expression();
  if (at !== tokens.length) throw new Error('syntax');
  return tree;
`,
  },
  {
    file: 'parser.mjs',
    find: "if (tokens[0]?.kind === 'name' && tokens[1]?.kind === '=') {\n",
    replace:
      "if (tokens[0]?.kind === 'name' && tokens[1]?.kind === '=') {\n    if (tokens[0].text === 'ans') throw new Error('syntax');\n",
  },
  {
    file: 'calc.mjs',
    find: '  if (statement.target !== null) names.delete(statement.target);\n',
    replace: '',
  },
  { file: 'calc.mjs', find: ".split('\\n')", replace: '.split(/\\r?\\n/)' },
];

function apply(source: string, edit: Edit): string {
  const pieces = source.split(edit.find);
  if (pieces.length !== 2) {
    throw new Error(`${edit.file}: ${JSON.stringify(edit.find)} occurs ${pieces.length - 1} times, must occur once`);
  }
  return pieces.join(edit.replace);
}

function folder(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`environment variable ${name} is not set`);
  return value;
}

const project = path.join(folder('TASK_INPUT'), 'project');
const output = folder('TASK_OUTPUT');
await mkdir(output, { recursive: true });
for (const file of ['rational.mjs', 'parser.mjs', 'calc.mjs']) {
  const source = await readFile(path.join(project, file), 'utf8');
  const repaired = EDITS.filter((edit) => edit.file === file).reduce(apply, source);
  await writeFile(path.join(output, file), repaired);
}
