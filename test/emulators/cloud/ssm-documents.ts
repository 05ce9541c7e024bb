import { whyAgentRefuses } from './agent-pattern.ts';
import { ServiceError } from './service-error.ts';

interface Step {
  readonly action: string;
  readonly name: string;
  readonly precondition?: { readonly StringEquals?: readonly string[] };
  readonly inputs: { readonly timeoutSeconds?: string | number; readonly runCommand?: string | readonly string[] };
}

/** Content of a command document, schema 2.2. */
interface DocumentContent {
  readonly schemaVersion: string;
  readonly parameters?: Readonly<Record<string, ParameterRule>>;
  readonly mainSteps: readonly Step[];
}

interface ParameterRule {
  readonly type: 'String' | 'StringList';
  readonly default?: string | readonly string[];
  readonly allowedPattern?: string;
}

export interface PlannedStep {
  readonly name: string;
  readonly action: string;
  /** Why it is not run on this machine; null when it is. */
  readonly skipped: string | null;
  /** What the machine's agent says instead of running it; null when it runs it. */
  readonly refusal: string | null;
  readonly script: string;
  readonly timeoutSeconds: number;
}

const shellDocument = (action: string, platform: string): DocumentContent => ({
  schemaVersion: '2.2',
  parameters: {
    commands: { type: 'StringList' },
    workingDirectory: { type: 'String', default: '' },
    executionTimeout: {
      type: 'String',
      default: '3600',
      allowedPattern: '([1-9][0-9]{0,4})|(1[0-6][0-9]{4})|(17[0-1][0-9]{3})|(172[0-7][0-9]{2})|(172800)',
    },
  },
  mainSteps: [
    {
      action,
      name: action.replace('aws:', ''),
      precondition: { StringEquals: ['platformType', platform] },
      inputs: { runCommand: '{{ commands }}', timeoutSeconds: '{{ executionTimeout }}' },
    },
  ],
});

/** Documents that every account has. */
const PUBLIC_DOCUMENTS = {
  'AWS-RunShellScript': shellDocument('aws:runShellScript', 'Linux'),
  'AWS-RunPowerShellScript': shellDocument('aws:runPowerShellScript', 'Windows'),
} as const;

/** The documents of an account, and what one of them does on a machine with given parameters. */
export class CommandDocuments {
  readonly #contents = new Map<string, DocumentContent>(Object.entries(PUBLIC_DOCUMENTS));

  /** @throws TypeError for content that is no command document of schema 2.2. */
  add(name: string, content: unknown): void {
    const { schemaVersion, mainSteps } = content as Partial<DocumentContent>;
    if (schemaVersion !== '2.2' || !Array.isArray(mainSteps)) throw new TypeError(`${name} is not of schema 2.2`);
    this.#contents.set(name, content as DocumentContent);
  }

  /** @throws ServiceError for an unknown document, and for parameters that it does not take. */
  plan(name: string, given: Readonly<Record<string, readonly string[]>>, os: 'linux' | 'windows'): PlannedStep[] {
    const content = this.#contents.get(name);
    if (content === undefined) throw new ServiceError('InvalidDocument', `Document with name ${name} does not exist.`);
    const values = valuesOf(content.parameters ?? {}, given);
    const platform = os === 'linux' ? 'Linux' : 'Windows';
    const refusal = refusalOf(content.parameters ?? {});
    return content.mainSteps.map((step) => ({ ...planStep(step, values, platform), refusal }));
  }
}

/** The agent says no more than this, and writes the cause into its own log. */
function refusalOf(rules: Readonly<Record<string, ParameterRule>>): string | null {
  const isRefused = Object.values(rules).some(({ allowedPattern = '' }) => whyAgentRefuses(allowedPattern) !== null);
  return isRefused ? 'Encountered error while parsing input - internal error' : null;
}

type Values = ReadonlyMap<string, readonly string[]>;

function valuesOf(
  rules: Readonly<Record<string, ParameterRule>>,
  given: Readonly<Record<string, readonly string[]>>,
): Values {
  const unknown = Object.keys(given).find((name) => !(name in rules));
  if (unknown !== undefined)
    throw new ServiceError('InvalidParameters', `Parameter "${unknown}" is not defined in the document.`);
  return new Map(
    Object.entries(rules).map(([name, rule]) => {
      const value = given[name] ?? (rule.default === undefined ? undefined : [rule.default].flat());
      if (value === undefined) throw new ServiceError('InvalidParameters', `Parameter "${name}" requires a value.`);
      if (rule.type === 'String' && value.length !== 1)
        throw new ServiceError('InvalidParameters', `Parameter "${name}" takes one value.`);
      const pattern = rule.allowedPattern === undefined ? /^/u : new RegExp(`^(?:${rule.allowedPattern})$`, 'u');
      const wrong = given[name] === undefined ? undefined : value.find((each) => !pattern.test(each));
      if (wrong === undefined) return [name, value];
      throw new ServiceError('InvalidParameters', `Parameter "${name}" has a value that does not match its pattern.`);
    }),
  );
}

function planStep(step: Step, values: Values, platform: string): Omit<PlannedStep, 'refusal'> {
  const [name, wanted] = step.precondition?.StringEquals ?? [];
  const isMet = name !== 'platformType' || wanted === platform;
  const told = `Step execution skipped due to unsatisfied preconditions: '"StringEquals": [platformType, ${String(wanted)}]'. Step name: ${step.name}`;
  const { runCommand = [], timeoutSeconds = '3600' } = step.inputs;
  return {
    name: step.name,
    action: step.action,
    skipped: isMet ? null : told,
    script: linesOf(runCommand, values).join('\n'),
    timeoutSeconds: Number(linesOf(String(timeoutSeconds), values)[0]),
  };
}

/** A line that is one parameter alone becomes all its values. */
function linesOf(text: string | readonly string[], values: Values): readonly string[] {
  return [text].flat().flatMap((line) => {
    const alone = /^\{\{\s*(\w+)\s*\}\}$/u.exec(line)?.[1];
    const list = alone === undefined ? undefined : values.get(alone);
    if (list !== undefined) return list;
    return [line.replace(/\{\{\s*(\w+)\s*\}\}/gu, (whole, name: string) => values.get(name)?.join('\n') ?? whole)];
  });
}
