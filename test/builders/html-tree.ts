/** A parsed element. Attribute values and texts are unescaped. */
export interface HtmlElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (HtmlElement | string)[];
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function unescape(text: string): string {
  if (/[<>]/u.test(text)) throw new Error(`unescaped text: ${text}`);
  return text.replace(/&([^;]*);?/gu, (whole, name: string) => {
    const character = ENTITIES[name];
    if (character === undefined) throw new Error(`unescaped or unknown entity ${whole}`);
    return character;
  });
}

/** Reads a page strictly: every tag closed in order, every attribute quoted, every special character escaped. */
export function parseHtml(page: string): HtmlElement {
  const body = page.replace(/^<!DOCTYPE html>\s*/u, '');
  const root = { tag: '#root', attributes: {}, children: [] as (HtmlElement | string)[] };
  const open = [root];
  const token = /<(\/?)([a-z][a-z0-9]*)((?:\s+[a-zA-Z][a-zA-Z0-9-]*="[^"<]*")*)\s*(\/?)>|([^<]+)|(<)/gu;
  for (const [, close, tag, attributes, empty, text] of body.matchAll(token)) {
    const parent = open.at(-1);
    if (parent === undefined) throw new Error('closed more than was opened');
    if (text !== undefined) parent.children.push(parent.tag === 'style' ? text : unescape(text));
    else if (tag === undefined) throw new Error('a < that opens no tag');
    else if (close === '/') {
      if (open.pop()?.tag !== tag) throw new Error(`</${tag}> does not close what is open`);
    } else {
      const element = { tag, attributes: attributesOf(attributes ?? ''), children: [] };
      parent.children.push(element);
      if (empty !== '/') open.push(element);
    }
  }
  if (open.length !== 1) throw new Error(`left open: ${open.map((each) => each.tag).join(' ')}`);
  const [html] = root.children;
  if (typeof html !== 'object') throw new Error('no root element');
  return html;
}

function attributesOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/([a-zA-Z][a-zA-Z0-9-]*)="([^"]*)"/gu)].map(([, name, value]) => [
      name ?? '',
      unescape(value ?? ''),
    ]),
  );
}

export function textOf(node: HtmlElement | string): string {
  return typeof node === 'string' ? node : node.children.map(textOf).join('');
}

/** All elements below with that tag, in order. */
export function allOf(node: HtmlElement, tag: string): readonly HtmlElement[] {
  return node.children.flatMap((child) => {
    if (typeof child === 'string') return [];
    return [...(child.tag === tag ? [child] : []), ...allOf(child, tag)];
  });
}

/** Texts of the cells of each row of a table. */
export function rowsOf(table: HtmlElement): readonly (readonly string[])[] {
  return allOf(table, 'tr').map((row) =>
    row.children.filter((cell) => typeof cell === 'object').map((cell) => textOf(cell).trim()),
  );
}
