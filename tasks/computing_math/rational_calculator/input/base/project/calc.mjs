/** Reads statements from standard input, prints one line for each. */
import { readFileSync } from 'node:fs';
import { parseStatement, tokenize } from './parser.mjs';
import { add, compare, divide, floor, format, modulo, multiply, negate, parseNumber, power, subtract } from './rational.mjs';

const OPERATORS = { '+': add, '-': subtract, '*': multiply, '/': divide, '%': modulo, '^': power };
const names = new Map();

function call(name, args) {
  if (name === 'min') return args.reduce((a, b) => (compare(a, b) <= 0 ? a : b));
  if (name === 'max') return args.reduce((a, b) => (compare(a, b) >= 0 ? a : b));
  if (name !== 'abs' && name !== 'floor') throw new Error(`unknown name ${name}`);
  if (args.length !== 1) throw new Error('wrong number of arguments');
  if (name === 'floor') return floor(args[0]);
  return args[0].n < 0n ? negate(args[0]) : args[0];
}

function evaluate(node) {
  switch (node.kind) {
    case 'number':
      return parseNumber(node.text);
    case 'name': {
      const value = names.get(node.name);
      if (value === undefined) throw new Error(`unknown name ${node.name}`);
      return value;
    }
    case 'negate':
      return negate(evaluate(node.operand));
    case 'call':
      return call(node.name, node.args.map(evaluate));
    default:
      return OPERATORS[node.operator](evaluate(node.left), evaluate(node.right));
  }
}

function run(line) {
  const statement = parseStatement(tokenize(line));
  if (statement.target !== null) names.delete(statement.target);
  const value = evaluate(statement.value);
  if (statement.target !== null) names.set(statement.target, value);
  names.set('ans', value);
  return format(value);
}

for (const raw of readFileSync(0, 'utf8').split('\n')) {
  const line = raw.replace(/#.*$/, '');
  if (line.trim() === '') continue;
  try {
    console.log(run(line));
  } catch (error) {
    console.log(`error: ${error.message}`);
  }
}
