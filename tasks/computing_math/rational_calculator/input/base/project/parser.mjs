/** Turns one line into a tree. Nodes: number, name, call, negate, binary. */

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|([-+*/%^(),=]))/y;

export function tokenize(line) {
  const text = line.trimEnd();
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (match === null) throw new Error('syntax');
    const [, number, name, symbol] = match;
    if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else tokens.push({ kind: symbol, text: symbol });
  }
  return tokens;
}

export function parseStatement(tokens) {
  if (tokens[0]?.kind === 'name' && tokens[1]?.kind === '=') {
    return { target: tokens[0].text, value: parseExpression(tokens.slice(2)) };
  }
  return { target: null, value: parseExpression(tokens) };
}

function parseExpression(tokens) {
  let at = 0;
  const peek = () => tokens[at]?.kind;
  const take = (kind) => {
    if (peek() !== kind) throw new Error('syntax');
    return tokens[at++];
  };

  function expression() {
    let left = term();
    while (peek() === '+' || peek() === '-') left = { kind: 'binary', operator: tokens[at++].kind, left, right: term() };
    return left;
  }

  function term() {
    let left = power();
    while (peek() === '*' || peek() === '/' || peek() === '%') {
      left = { kind: 'binary', operator: tokens[at++].kind, left, right: power() };
    }
    return left;
  }

  function power() {
    let left = unary();
    while (peek() === '^') {
      at += 1;
      left = { kind: 'binary', operator: '^', left, right: unary() };
    }
    return left;
  }

  function unary() {
    if (peek() !== '-') return primary();
    at += 1;
    return { kind: 'negate', operand: unary() };
  }

  function primary() {
    if (peek() === 'number') return { kind: 'number', text: take('number').text };
    if (peek() === '(') {
      take('(');
      const inner = expression();
      take(')');
      return inner;
    }
    const name = take('name').text;
    if (peek() !== '(') return { kind: 'name', name };
    take('(');
    const args = [expression()];
    while (peek() === ',') {
      at += 1;
      args.push(expression());
    }
    take(')');
    return { kind: 'call', name, args };
  }

  return expression();
}
