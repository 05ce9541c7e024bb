/** Look at a picture on the screen and say what is where; only who sees it can. */
import {
  compareLeaves,
  isJsonObject,
  prepareOutput,
  readAgentText,
  readJson,
  type EvaluateContext,
  type Evaluation,
  type LoadContext,
  type StartContext,
  type TaskVariant,
} from '#sdk';
import { openPage } from '../_shared/browser.ts';
import { answerOf, BAR, COLORS, QUESTIONS, sceneOf, SHAPES, type Question } from './scenes.ts';

const ASKED: Readonly<Record<Question, readonly string[]>> = {
  around: [
    'One square of the picture is black. Say what stands directly left of it, right of it, above it and below it.',
    'Write a JSON object with the members "left", "right", "above" and "below", each the colour and the shape, such as "green cross".',
  ],
  counts: [
    'Count the shapes of the picture by colour and by shape; some places are empty.',
    `Write a JSON object with the number of each: members ${[...Object.keys(COLORS), ...SHAPES].map((name) => `"${name}"`).join(', ')}.`,
  ],
};

export function load(context: LoadContext): readonly TaskVariant[] {
  return QUESTIONS.map((name) => {
    const paths = context.paths(name);
    const prompt = [
      'A browser on the screen shows a picture of coloured shapes in rows and columns.',
      `Colours are ${Object.keys(COLORS).join(', ')}; shapes are ${SHAPES.join(', ')}.`,
      '',
      ...ASKED[name],
      '',
      `Write it to ${paths.output}/answer.json; ${paths.input}/form.json shows its form. The picture is nowhere but on the screen.`,
    ].join('\n');
    return { name, prompt };
  });
}

function questionOf({ variant }: { readonly variant: TaskVariant }): Question {
  const question = QUESTIONS.find((each) => each === variant.name);
  if (question === undefined) throw new Error(`there is no question for variant ${variant.name}`);
  return question;
}

export async function start(context: StartContext): Promise<void> {
  const { session, secret } = context;
  const question = questionOf(context);
  await prepareOutput(session, context.paths, ['form.json']);
  const { port } = await context.startService('picture', { secret, question });
  await openPage(session, { port, name: 'picture', bar: BAR });
}

/** Each side of the mark is a quarter; counts are easily guessed one by one, so they count only all together. */
export async function evaluate(context: EvaluateContext): Promise<Evaluation> {
  const question = questionOf(context);
  const expected = answerOf(await sceneOf(context.secret, question), question);
  const asked = JSON.parse(await context.reference.readText('asked.json')) as readonly string[];
  const missing = asked.filter((name) => !Object.hasOwn(expected, name));
  if (missing.length > 0) throw new Error(`reference/asked.json names ${missing.join(', ')}, which nobody asked for`);
  const text = await readAgentText(context.output, 'answer.json', 65_536);
  if (text === null) return { score: 0, reason: 'answer.json is missing or not readable' };
  const actual = readJson(text);
  if (!actual.ok) return { score: 0, reason: actual.reason };
  if (!isJsonObject(actual.value)) return { score: 0, reason: 'answer.json is not an object' };
  const { score } = compareLeaves(actual.value, expected, 0);
  return { score: question === 'counts' && score < 1 ? 0 : score };
}
