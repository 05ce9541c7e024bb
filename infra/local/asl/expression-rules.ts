/** A node of JSONata's syntax tree, as far as the rules read it. */
export interface AstNode {
  readonly type?: string;
  readonly value?: unknown;
  readonly steps?: readonly AstNode[];
  readonly stages?: readonly AstNode[];
  readonly predicate?: readonly AstNode[];
  readonly group?: { readonly lhs: readonly (readonly [AstNode, AstNode])[] };
  readonly focus?: unknown;
  readonly index?: unknown;
  readonly tuple?: unknown;
  readonly keepSingletonArray?: unknown;
  readonly keepArray?: unknown;
  readonly [field: string]: unknown;
}

/** What an expression refers to, and what Step Functions would not accept in it. */
export interface Analysis {
  readonly variables: ReadonlySet<string>;
  /** Names the expression itself binds somewhere: with `:=`, `@`, `#`, or as a function's parameter. */
  readonly bound: ReadonlySet<string>;
  /** Fields of `$states` named in the expression. */
  readonly statesFields: ReadonlySet<string>;
  /** Whether `$states` is used other than to name one of its fields. */
  readonly usesWholeStates: boolean;
  readonly problems: readonly string[];
}

export const STATES_FIELDS: ReadonlySet<string> = new Set(['input', 'result', 'errorOutput', 'context']);

/**
 * Reads a syntax tree. Step Functions evaluates with no context item, so `$`, `$$`, and names, wildcards and `%` that
 * are not relative to some value are refused, as is `$eval`.
 */
export function analyzeExpression(ast: AstNode): Analysis {
  const walker = new Walker();
  walker.visit(ast, false);
  return walker;
}

class Walker implements Analysis {
  readonly variables = new Set<string>();
  readonly bound = new Set<string>();
  readonly statesFields = new Set<string>();
  readonly problems: string[] = [];
  usesWholeStates = false;

  visit(node: AstNode, hasContext: boolean): void {
    if (node.type === 'path') this.#visitPath(node, hasContext);
    else if (node.type === 'variable') this.#visitVariable(node, hasContext);
    else this.#visitOther(node, hasContext);
    for (const name of boundNames(node)) this.bound.add(name);
    for (const stage of [...(node.stages ?? []), ...(node.predicate ?? [])]) this.#visitChildren(stage, true);
    for (const [key, value] of node.group?.lhs ?? []) {
      this.visit(key, true);
      this.visit(value, true);
    }
  }

  #visitPath(node: AstNode, hasContext: boolean): void {
    const [first, second] = node.steps ?? [];
    const namesField =
      first !== undefined && isPlain(first, 'variable') && first.value === 'states' && second?.type === 'name';
    if (namesField) {
      this.variables.add('states');
      const field = String(second.value);
      this.statesFields.add(field);
      if (!STATES_FIELDS.has(field)) {
        this.problems.push(`$states has no field '${field}'; it has input, result, errorOutput and context`);
      }
    }
    (node.steps ?? []).forEach((step, index) => {
      if (index > 0 || !namesField) this.visit(step, hasContext || index > 0);
    });
  }

  #visitVariable(node: AstNode, hasContext: boolean): void {
    const name = String(node.value);
    if (name === '$') this.problems.push("Reference to '$$' is not supported");
    else if (name === '' && !hasContext) this.problems.push("Reference to '$' at the top level is not supported");
    else if (name === 'eval') this.problems.push('$eval is not supported; use $parse');
    else if (name !== '') this.variables.add(name);
    if (name === 'states') this.usesWholeStates = true;
  }

  #visitOther(node: AstNode, hasContext: boolean): void {
    const needsContext = ['name', 'wildcard', 'descendant', 'parent'].includes(node.type ?? '');
    if (needsContext && !hasContext) {
      this.problems.push(`Reference to '${String(node.value)}' at the top level is not supported`);
    }
    const isOwnContext = node.type === 'transform' || node.type === 'sort' || node.type === 'filter';
    this.#visitChildren(node, hasContext || isOwnContext);
  }

  #visitChildren(node: AstNode, hasContext: boolean): void {
    for (const [field, child] of Object.entries(node)) {
      if (!['stages', 'predicate', 'group', 'steps'].includes(field)) this.#visitAny(child, hasContext);
    }
  }

  #visitAny(child: unknown, hasContext: boolean): void {
    if (Array.isArray(child)) child.forEach((item) => this.#visitAny(item, hasContext));
    else if (isNode(child)) {
      if (child.type === undefined) this.#visitChildren(child, hasContext);
      else this.visit(child, hasContext);
    }
  }
}

function boundNames(node: AstNode): readonly string[] {
  const names = [node.focus, node.index].filter((name) => typeof name === 'string');
  const { lhs, arguments: parameters } = node;
  if (node.type === 'bind' && isNode(lhs)) names.push(String(lhs.value));
  if (node.type === 'lambda' && Array.isArray(parameters)) {
    for (const parameter of parameters) if (isNode(parameter)) names.push(String(parameter.value));
  }
  return names;
}

/** Whether a value can be a node of a syntax tree. */
export function isNode(value: unknown): value is AstNode {
  return typeof value === 'object' && value !== null && !(value instanceof RegExp);
}

/**
 * The names of a plain path such as `$states.input.unit.id` or `$unit`, without predicates, sorting or the like.
 * Such a path can be read from plain objects directly, with the result JSONata would give.
 */
export function plainPath(ast: AstNode): readonly string[] | undefined {
  if (isPlain(ast, 'variable')) return [String(ast.value)];
  if (ast.type !== 'path' || hasExtras(ast)) return undefined;
  const [first, ...rest] = ast.steps ?? [];
  if (first === undefined || !isPlain(first, 'variable') || !rest.every((step) => isPlain(step, 'name'))) {
    return undefined;
  }
  return [first, ...rest].map(({ value }) => String(value));
}

function isPlain(node: AstNode, type: string): boolean {
  return node.type === type && !hasExtras(node) && node.value !== '' && node.value !== '$';
}

function hasExtras(node: AstNode): boolean {
  const extras = ['stages', 'predicate', 'group', 'focus', 'index', 'tuple', 'keepSingletonArray', 'keepArray'];
  return extras.some((field) => node[field] !== undefined);
}
