import type { ScalarTag } from 'yaml';

/** Plain scalars as PyYAML 6 resolves them, where the library's own YAML 1.1 tags do otherwise. */

const bool = 'tag:yaml.org,2002:bool';
const int = 'tag:yaml.org,2002:int';
const float = 'tag:yaml.org,2002:float';

/** `y` and `n` are text. */
const trueTag: ScalarTag = {
  tag: bool,
  default: true,
  test: /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/,
  resolve: () => true,
};
const falseTag: ScalarTag = {
  tag: bool,
  default: true,
  test: /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/,
  resolve: () => false,
};

const binary: ScalarTag = { tag: int, default: true, test: /^[-+]?0b[01_]+$/, resolve: (text) => integer(text, 2, 2) };
const hexadecimal: ScalarTag = {
  tag: int,
  default: true,
  test: /^[-+]?0x[0-9a-fA-F_]+$/,
  resolve: (text) => integer(text, 16, 2),
};
const octal: ScalarTag = { tag: int, default: true, test: /^[-+]?0[0-7_]+$/, resolve: (text) => integer(text, 8, 0) };
/** `08` is text. */
const decimal: ScalarTag = {
  tag: int,
  default: true,
  test: /^[-+]?(?:0|[1-9][0-9_]*)$/,
  resolve: (text) => integer(text, 10, 0),
};
const sexagesimal: ScalarTag = {
  tag: int,
  default: true,
  test: /^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+$/,
  resolve: base60,
};

/** A dot is required, and a sign in the exponent; a leading dot takes no sign. */
const decimalFloat: ScalarTag = {
  tag: float,
  default: true,
  test: /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$/,
  resolve: (text) => Number(text.replaceAll('_', '')),
};
const sexagesimalFloat: ScalarTag = {
  tag: float,
  default: true,
  test: /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*$/,
  resolve: base60,
};
const infinity: ScalarTag = {
  tag: float,
  default: true,
  test: /^[-+]?\.(?:inf|Inf|INF)$/,
  resolve: (text) => (text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY),
};
const notANumber: ScalarTag = { tag: float, default: true, test: /^\.(?:nan|NaN|NAN)$/, resolve: () => Number.NaN };

/** In this order. Dates stay text: that is what upstream's `str()` makes of them. */
export const pyYamlScalars: readonly ScalarTag[] = [
  trueTag,
  falseTag,
  binary,
  hexadecimal,
  octal,
  decimal,
  sexagesimal,
  decimalFloat,
  sexagesimalFloat,
  infinity,
  notANumber,
];

/** A lone prefix (`0b_`) has no digits and no value; PyYAML refuses it too. */
function integer(text: string, radix: number, prefixLength: number): number {
  const [sign, digits] = signed(text);
  const value = Number.parseInt(digits.slice(prefixLength) || '?', radix);
  if (Number.isNaN(value)) throw new Error(`"${text}" has no digits`);
  return sign * value;
}

function base60(text: string): number {
  const [sign, digits] = signed(text);
  return sign * digits.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}

function signed(text: string): readonly [1 | -1, string] {
  const plain = text.replaceAll('_', '');
  const hasSign = plain.startsWith('-') || plain.startsWith('+');
  return [plain.startsWith('-') ? -1 : 1, hasSign ? plain.slice(1) : plain];
}
