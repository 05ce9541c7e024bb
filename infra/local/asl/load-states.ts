import type { Assignments, Catcher, Choice, Retrier, State, StatesBlock } from './definition.ts';
import { CATCHER_FIELDS, CHOICE_FIELDS, RETRIER_FIELDS } from './fields.ts';
import { MAX_SECONDS } from './limits.ts';
import type { DefinitionReader, RawObject, Reads } from './reader.ts';
import type { Template } from './template.ts';

const LAMBDA_INVOKE = 'arn:aws:states:::lambda:invoke';
const LAMBDA_CALLBACK = `${LAMBDA_INVOKE}.waitForTaskToken`;

const SECONDS = { min: 1, max: MAX_SECONDS };

/** Loads a state other than a Map. */
export function loadState(
  reader: DefinitionReader,
  name: string,
  raw: RawObject,
  loadBranch: (value: unknown) => StatesBlock,
): State {
  const place = `state '${name}'`;
  switch (raw['Type']) {
    case 'Task':
      return loadTask(reader, name, raw);
    case 'Parallel': {
      const branches = reader.list(raw['Branches'], place, "'Branches'").map(loadBranch);
      if (branches.length === 0) reader.problem(place, "'Branches' must hold at least one branch");
      const input = reader.template(raw, 'Arguments', { place });
      return { ...loadFallible(reader, name, raw), type: 'Parallel', branches, arguments: input };
    }
    case 'Choice':
      return loadChoice(reader, name, raw);
    case 'Wait':
      return loadWait(reader, name, raw);
    case 'Succeed':
      return { name, type: 'Succeed', output: reader.template(raw, 'Output', { place }) };
    case 'Fail': {
      const [error, cause] = ['Error', 'Cause'].map((field) => reader.template(raw, field, { place }));
      return { name, type: 'Fail', error, cause };
    }
    default:
      return { ...loadStep(reader, name, raw, 'entry'), type: 'Pass' };
  }
}

/** The fields of states that may fail. */
export function loadFallible(
  reader: DefinitionReader,
  name: string,
  raw: RawObject,
): ReturnType<typeof loadStep> & { readonly retriers: readonly Retrier[]; readonly catchers: readonly Catcher[] } {
  const place = `state '${name}'`;
  const retriers = optionalList(reader, raw, 'Retry', place);
  const catchers = optionalList(reader, raw, 'Catch', place);
  return {
    ...loadStep(reader, name, raw, 'result'),
    retriers: retriers.map((value, index) => loadRetrier(reader, value, place, [index, retriers.length])),
    catchers: catchers.map((value, index) => loadCatcher(reader, value, place, [index, catchers.length])),
  };
}

function loadTask(reader: DefinitionReader, name: string, raw: RawObject): State {
  const place = `state '${name}'`;
  const resource = reader.text(raw, 'Resource', place);
  const waitsForToken = resource === LAMBDA_CALLBACK;
  if (resource !== LAMBDA_INVOKE && !waitsForToken) {
    reader.problem(
      place,
      `the resource '${resource}' is not interpreted here; resources: ${LAMBDA_INVOKE}, ${LAMBDA_CALLBACK}`,
    );
  }
  const args = reader.object(raw['Arguments'], place, "'Arguments'");
  for (const field of Object.keys(args)) {
    if (field !== 'FunctionName' && field !== 'Payload') {
      reader.problem(place, `the argument '${field}' of ${resource} is not interpreted here`);
    }
  }
  const at = (field: string): { place: string; location: string } => ({ place, location: `Arguments/${field}` });
  if (args['FunctionName'] === undefined) reader.problem(place, "'Arguments' lacks 'FunctionName'");
  if (raw['HeartbeatSeconds'] !== undefined && !waitsForToken) {
    reader.problem(
      place,
      "'HeartbeatSeconds' is interpreted here only with .waitForTaskToken, where there is a token to beat with",
    );
  }
  const timeoutSeconds = reader.numberTemplate(raw, 'TimeoutSeconds', { place }, SECONDS);
  const heartbeatSeconds = reader.numberTemplate(raw, 'HeartbeatSeconds', { place }, SECONDS);
  checkHeartbeat(reader, place, timeoutSeconds, heartbeatSeconds);
  return {
    ...loadFallible(reader, name, raw),
    type: 'Task',
    functionName: reader.template(args, 'FunctionName', at('FunctionName')) ?? { kind: 'constant', value: '' },
    payload: reader.template(args, 'Payload', at('Payload')),
    waitsForToken,
    timeoutSeconds,
    heartbeatSeconds,
  };
}

function checkHeartbeat(
  reader: DefinitionReader,
  place: string,
  ...[timeout, heartbeat]: (Template | undefined)[]
): void {
  if (timeout?.kind !== 'constant' || heartbeat?.kind !== 'constant') return;
  const [limit, beat] = [Number(timeout.value), Number(heartbeat.value)];
  if (beat >= limit) {
    reader.problem(place, `'HeartbeatSeconds' (${beat}) must be smaller than 'TimeoutSeconds' (${limit})`);
  }
}

function loadChoice(reader: DefinitionReader, name: string, raw: RawObject): State {
  const place = `state '${name}'`;
  const rawChoices = reader.list(raw['Choices'], place, "'Choices'");
  if (rawChoices.length === 0) reader.problem(place, "'Choices' must hold at least one rule");
  const choices = rawChoices.map((value, index): Choice => {
    const location = `Choices[${index}]`;
    const rule = reader.object(value, place, location);
    reader.onlyFields(rule, CHOICE_FIELDS, `${place}, ${location}`);
    const condition = reader.template(rule, 'Condition', { place, location: `${location}/Condition` });
    if (rule['Condition'] === undefined) reader.problem(place, `${location} lacks 'Condition'`);
    return {
      condition: condition ?? { kind: 'constant', value: false },
      location,
      next: reader.text(rule, 'Next', `${place}, ${location}`),
      ...loadOutcome(reader, rule, place, { prefix: `${location}/`, reads: 'entry' }),
    };
  });
  const defaultNext = raw['Default'] === undefined ? undefined : reader.text(raw, 'Default', place);
  return {
    name,
    type: 'Choice',
    choices,
    defaultNext,
    ...loadOutcome(reader, raw, place, { prefix: '', reads: 'entry' }),
  };
}

function loadWait(reader: DefinitionReader, name: string, raw: RawObject): State {
  const place = `state '${name}'`;
  if ((raw['Seconds'] === undefined) === (raw['Timestamp'] === undefined)) {
    reader.problem(place, "a Wait has either 'Seconds' or 'Timestamp'");
  }
  return {
    ...loadStep(reader, name, raw, 'entry'),
    type: 'Wait',
    seconds: reader.numberTemplate(raw, 'Seconds', { place }, { min: 0, max: MAX_SECONDS }),
    timestamp: reader.template(raw, 'Timestamp', { place }),
  };
}

function loadStep(
  reader: DefinitionReader,
  name: string,
  raw: RawObject,
  reads: Reads,
): { name: string; output: Template | undefined; assign: Assignments | undefined; next: string | undefined } {
  const place = `state '${name}'`;
  const { Next: rawNext, End: end } = raw;
  if ((rawNext === undefined) === (end === undefined) || (end !== undefined && end !== true)) {
    reader.problem(place, "a state has either 'Next' or 'End': true");
  }
  const next = rawNext === undefined ? undefined : reader.text(raw, 'Next', place);
  return { name, next, ...loadOutcome(reader, raw, place, { prefix: '', reads }) };
}

function loadOutcome(
  reader: DefinitionReader,
  raw: RawObject,
  place: string,
  { prefix, reads }: { readonly prefix: string; readonly reads: Reads },
): { output: Template | undefined; assign: Assignments | undefined } {
  const output = reader.template(raw, 'Output', { place, location: `${prefix}Output`, reads });
  if (raw['Assign'] === undefined) return { output, assign: undefined };
  const values = reader.object(raw['Assign'], place, `'${prefix}Assign'`);
  const assign = Object.keys(values).flatMap((variable) => {
    const template = reader.template(values, variable, { place, location: `${prefix}Assign/${variable}`, reads });
    return template === undefined ? [] : [[variable, template] as const];
  });
  return { output, assign };
}

function loadRetrier(reader: DefinitionReader, value: unknown, state: string, position: Position): Retrier {
  const [index, count] = position;
  const place = `${state}, Retry[${index}]`;
  const raw = reader.object(value, state, `Retry[${index}]`);
  reader.onlyFields(raw, RETRIER_FIELDS, place);
  return {
    errorEquals: reader.errorNames(raw, place, index === count - 1),
    intervalSeconds: reader.number(raw, 'IntervalSeconds', place, SECONDS) ?? 1,
    maxAttempts: reader.number(raw, 'MaxAttempts', place, { min: 0, max: MAX_SECONDS }) ?? 3,
    backoffRate: reader.number(raw, 'BackoffRate', place, { min: 1, max: Number.MAX_VALUE, isInteger: false }) ?? 2,
    maxDelaySeconds: reader.number(raw, 'MaxDelaySeconds', place, { min: 1, max: 31_622_400 }),
    jitterStrategy: reader.oneOf(raw, 'JitterStrategy', place, ['FULL', 'NONE']) ?? 'NONE',
  };
}

function loadCatcher(reader: DefinitionReader, value: unknown, state: string, position: Position): Catcher {
  const [index, count] = position;
  const location = `Catch[${index}]`;
  const place = `${state}, ${location}`;
  const raw = reader.object(value, state, location);
  reader.onlyFields(raw, CATCHER_FIELDS, place);
  return {
    errorEquals: reader.errorNames(raw, place, index === count - 1),
    next: reader.text(raw, 'Next', place),
    location,
    ...loadOutcome(reader, raw, state, { prefix: `${location}/`, reads: 'error' }),
  };
}

/** Index and number of entries. */
type Position = readonly [number, number];

function optionalList(reader: DefinitionReader, raw: RawObject, field: string, place: string): readonly unknown[] {
  return raw[field] === undefined ? [] : reader.list(raw[field], place, `'${field}'`);
}
