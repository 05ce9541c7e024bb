/** What this library needs of a folder reader. */
export interface TextSource {
  exists(path: string): Promise<boolean>;
  readText(path: string, maxBytes?: number): Promise<string>;
}

/** What `prepareOutput` needs of a sandbox session. */
export interface CommandSession {
  runCommand(command: string, options?: { readonly check?: boolean }): Promise<{ readonly stdout: string }>;
}

const NOT_READABLE = new Set(['FileMissingError', 'FileTooLargeError', 'UnsafePathError']);

/** Quotes one word for `/bin/sh`. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * Makes the output folder, removes what lies in it, and checks that the staged input files are there.
 * @throws Error naming every input file that is missing: the unit was staged wrongly, which is not the agent's fault.
 */
export async function prepareOutput(
  session: CommandSession,
  paths: { readonly input: string; readonly output: string },
  inputFiles: readonly string[],
): Promise<void> {
  const [input, output] = [shellQuote(paths.input), shellQuote(paths.output)];
  const empty = `mkdir -p ${output} && rm -rf -- ${output}/* ${output}/.[!.]* ${output}/..?*`;
  const look = `for file in ${inputFiles.map(shellQuote).join(' ')}; do [ -f ${input}/"$file" ] || printf '%s\\n' "$file"; done`;
  // One command: each call to a sandbox has its price.
  const { stdout } = await session.runCommand(`${empty} && ${look}`, { check: true });
  const missing = stdout.split('\n').filter((file) => file !== '');
  if (missing.length > 0) {
    throw new Error(
      `input files are not staged in ${paths.input}: ${missing.join(', ')}; stage the variant's input again`,
    );
  }
}

/** The text of a file that an agent may have left, or null when it is missing, too large or not a plain file. */
export async function readAgentText(source: TextSource, path: string, maxBytes = 1024 * 1024): Promise<string | null> {
  try {
    return (await source.exists(path)) ? await source.readText(path, maxBytes) : null;
  } catch (error) {
    if (error instanceof Error && NOT_READABLE.has(error.name)) return null;
    throw error;
  }
}
