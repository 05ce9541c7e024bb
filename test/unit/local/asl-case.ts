/** Pages of the service's documentation that the cases cite. */
const GUIDE = 'https://docs.aws.amazon.com/step-functions/latest/dg';
const API = 'https://docs.aws.amazon.com/step-functions/latest/apireference';

export const DOC = {
  language: `${GUIDE}/concepts-amazon-states-language.html`,
  jsonata: `${GUIDE}/transforming-data.html`,
  variables: `${GUIDE}/workflow-variables.html`,
  context: `${GUIDE}/input-output-contextobject.html`,
  errors: `${GUIDE}/concepts-error-handling.html`,
  quotas: `${GUIDE}/service-quotas.html`,
  task: `${GUIDE}/state-task.html`,
  pass: `${GUIDE}/state-pass.html`,
  choice: `${GUIDE}/state-choice.html`,
  wait: `${GUIDE}/state-wait.html`,
  succeed: `${GUIDE}/state-succeed.html`,
  fail: `${GUIDE}/state-fail.html`,
  parallel: `${GUIDE}/state-parallel.html`,
  map: `${GUIDE}/state-map.html`,
  inlineMap: `${GUIDE}/state-map-inline.html`,
  distributedMap: `${GUIDE}/state-map-distributed.html`,
  itemReader: `${GUIDE}/input-output-itemreader.html`,
  itemSelector: `${GUIDE}/input-output-itemselector.html`,
  resultWriter: `${GUIDE}/input-output-resultwriter.html`,
  lambda: `${GUIDE}/connect-lambda.html`,
  callback: `${GUIDE}/connect-to-resource.html#connect-wait-token`,
  stateMachine: `${GUIDE}/statemachine-structure.html`,
  createStateMachine: `${API}/API_CreateStateMachine.html`,
  heartbeat: `${API}/API_SendTaskHeartbeat.html`,
} as const;

/** What a case expects of the run, or of the refusal; what is left out is not looked at. */
export interface Expected {
  readonly output?: unknown;
  readonly error?: string;
  /** Part of the cause. */
  readonly cause?: string;
  readonly status?: string;
  /** Virtual seconds the execution took. */
  readonly seconds?: number;
  /** Number of history events, counted by hand from the service's event list. */
  readonly historyEvents?: number;
  /** Part of the message with which the definition is refused. */
  readonly refused?: string;
}

/** One feature of the language: what the documentation says, made into a run. */
export interface AslCase {
  readonly feature: string;
  /** The page that says so. */
  readonly doc: string;
  readonly definition: unknown;
  readonly input?: unknown;
  readonly objects?: Readonly<Record<string, string>>;
  readonly expected: Expected;
}

/** A case that is refused when it is loaded; `refused` is part of the message. */
export type Refusal = readonly [feature: string, doc: string, definition: unknown, refused: string];
