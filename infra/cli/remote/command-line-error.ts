import { ConfigError, problemAt } from '#core/located';

/** A mistake on the command line, in the form that every mistake has. */
export function commandLineError(text: {
  readonly what: string;
  readonly got: string;
  readonly allowed: string;
  readonly action: string;
}): ConfigError {
  return new ConfigError([problemAt({ file: 'command line', line: 1, column: 1 }, text)]);
}
