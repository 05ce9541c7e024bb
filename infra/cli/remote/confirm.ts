import { createInterface } from 'node:readline/promises';
import { commandLineError } from './command-line-error.ts';

export interface Confirmation {
  /** What happens, in a sentence that ends with a question. */
  readonly question: string;
  readonly yes: boolean | undefined;
}

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/**
 * True when a person says yes, or `--yes` did. @throws ConfigError where nobody can be asked: what cannot be taken back is
 * never done because a pipe was silent.
 */
export async function isConfirmed(
  { question, yes }: Confirmation,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<boolean> {
  if (yes === true) return true;
  if (input.isTTY !== true || output.isTTY !== true) {
    throw commandLineError({
      what: 'this has to be confirmed, and there is no terminal to ask at',
      got: 'no --yes',
      allowed: 'a terminal, or --yes',
      action: 'give --yes if that is what you want',
    });
  }
  const lines = createInterface({ input, output });
  try {
    return (await lines.question(`${question} [yes/no] `)).trim().toLowerCase() === 'yes';
  } finally {
    lines.close();
  }
}
