/** Type an order number into a page and copy the confirmation code, which is nowhere but on the screen. */
import {
  prepareOutput,
  readAgentText,
  type EvaluateContext,
  type Evaluation,
  type LoadContext,
  type StartContext,
  type TaskVariant,
} from '#sdk';
import { openPage } from '../_shared/browser.ts';
import { codeOf } from './codes.ts';
import { ORDERS, type Order } from './layouts.ts';

export function load(context: LoadContext): readonly TaskVariant[] {
  return ORDERS.map(({ variant, orderNumber }) => {
    const paths = context.paths(variant);
    const prompt = [
      'An order desk is open in a browser on the screen. It confirms orders.',
      '',
      `1. Type the order number ${orderNumber} into the field and press the button Confirm.`,
      '2. The desk answers with a picture of a confirmation code: four characters, a dash, four characters.',
      `3. Write the code, exactly as the picture shows it and nothing else, to ${paths.output}/code.txt.`,
      '',
      `The order also lies in ${paths.input}/order.json. The code is nowhere but on the screen.`,
    ].join('\n');
    return { name: variant, prompt };
  });
}

function orderOf({ variant }: { readonly variant: TaskVariant }): Order {
  const order = ORDERS.find((each) => each.variant === variant.name);
  if (order === undefined) throw new Error(`there is no order for variant ${variant.name}`);
  return order;
}

export async function start(context: StartContext): Promise<void> {
  const { session, secret } = context;
  const { layout } = orderOf(context);
  await prepareOutput(session, context.paths, ['order.json']);
  const { port } = await context.startService('desk', { secret, layout });
  await openPage(session, { port, name: 'order-desk', bar: layout.bar });
}

export async function evaluate(context: EvaluateContext): Promise<Evaluation> {
  const { orderNumber } = JSON.parse(await context.reference.readText('confirmed.json')) as { orderNumber: string };
  const expected = await codeOf(context.secret, orderNumber);
  const text = await readAgentText(context.output, 'code.txt', 4096);
  if (text === null) return { score: 0, reason: 'code.txt is missing or not readable' };
  if (text.trim() === expected) return { score: 1, reason: 'the code is right' };
  return { score: 0, reason: 'code.txt does not hold the code of this order, alone and exactly as shown' };
}
