import { keyedBytes } from '../_shared/keyed-bytes.ts';

/** Characters of a code; none looks like another. */
export const ALPHABET = '34679ACDEFHJKLMNPRTUVWXY';

const CHARACTERS = 8;

export const ORDER_NUMBER = /^[A-Z]{2}-\d{4}$/u;

/** What the desk confirms an order with: four characters, a dash, four characters. */
export async function codeOf(secret: string, orderNumber: string): Promise<string> {
  const bytes = await keyedBytes(secret, `demo/hello confirms ${orderNumber}`);
  const all = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // 32 bits for each character: nobody is favoured by more than one in a hundred million.
  const code = Array.from({ length: CHARACTERS }, (_, at) =>
    ALPHABET.charAt(all.getUint32(at * 4) % ALPHABET.length),
  ).join('');
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}
